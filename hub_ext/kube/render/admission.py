"""What the API server itself refuses where servers run, whoever has rights there.

GPUs come by a lease or by a queue, labels of both are written by nobody else, and Workloads are
the governor's and Kueue's. These policies hold also where the governor is away.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...policy.model import Policy
from .. import names
from ..podterms import NETWORKS_ANNOTATION
from .cel import asks_gpu, either, is_one_of, labels_of, quoted, unchanged
from .fabric import fabric_rules
from .homes import homes, namespaces
from .kinds import Manifest
from .marks import manifest
from .namespaces import excepted
from .site import Site, user_of

__all__ = ["admission"]

_OURS, _KUEUES = f"{names.PREFIX}/", "kueue.x-k8s.io/"
_QUEUE, _GATE = f"{_KUEUES}queue-name", quoted(f"{_KUEUES}admission")
_NETWORKS = (NETWORKS_ANNOTATION, "v1.multus-cni.io/default-network")
"""Annotations that put a pod into a further network, or into another one."""

_GROUP = "group:"
_CONTROLLER = (
    "request.userInfo.username.startsWith('system:serviceaccount:kube-system:') || "
    "request.userInfo.username == 'system:kube-controller-manager'"
)
_CONTROLLED = (
    "has(object.metadata.ownerReferences) && "
    "object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)"
)
_OF_JOB = (
    "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists("
    "o, has(o.controller) && o.controller && o.kind == 'Job' && o.apiVersion == 'batch/v1')"
)
_HIDDEN = "'void', 'none', ''"
"""Values of NVIDIA's variable that give no device."""


class Guard(NamedTuple):
    """One policy: what it looks at, names for parts of expressions, and what must hold."""

    name: str
    rules: tuple[dict[str, Any], ...]
    variables: dict[str, str]
    validations: dict[str, str]
    """Words of the refusal, by which an expression is known, and the expression that must hold."""


def admission(policy: Policy, site: Site) -> Iterator[Manifest]:
    """Render every policy and its binding to the namespaces in which servers run."""
    everywhere = list(namespaces(policy, site))
    for guard in (_servers(site), *_templates(site), _workloads(site), _local_queues()):
        yield from _bound(guard, everywhere)
    opened = [home.namespace for home in homes(policy, site) if excepted(policy, home)]
    if opened:
        yield from _bound(_fabric(site), list(dict.fromkeys(opened)))


def _bound(guard: Guard, spaces: list[str]) -> Iterator[Manifest]:
    where = {
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": spaces}
            ]
        }
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": list(guard.rules)},
        "variables": [{"name": key, "expression": one} for key, one in guard.variables.items()],
        "validations": [
            {"expression": one, "message": words, "reason": "Forbidden"}
            for words, one in guard.validations.items()
        ],
    }
    yield manifest("ValidatingAdmissionPolicy", guard.name, {"spec": spec})
    bound = {
        "policyName": guard.name,
        "validationActions": ["Deny"],
        "matchResources": where,
    }
    yield manifest("ValidatingAdmissionPolicyBinding", guard.name, {"spec": bound})


def _fabric(site: Site) -> Guard:
    lease = quoted(names.LABEL_LEASE)
    hub = is_one_of([user_of(site.hub_namespace, site.hub)])
    return Guard(
        "gpu-commons-fabric",
        (_rule("", "v1", ["pods", "pods/ephemeralcontainers"], ["CREATE", "UPDATE"]),),
        {
            "labels": labels_of("object"),
            # What was let in stays let in when somebody else writes its status.
            "leased": f"(oldObject != null || {hub}) && {lease} in variables.labels",
        },
        fabric_rules("variables.leased"),
    )


def _servers(site: Site) -> Guard:
    lease = quoted(names.LABEL_LEASE)
    gates = "{0}.spec.schedulingGates"
    gate = f"has({gates}) && {gates}.exists(g, g.name == {_GATE})"
    return Guard(
        "gpu-commons-servers",
        (_rule("", "v1", ["pods", "pods/ephemeralcontainers"], ["CREATE", "UPDATE"]),),
        {
            "labels": labels_of("object"),
            "old": f"oldObject == null ? {{}} : ({labels_of('oldObject')})",
            "hub": is_one_of([user_of(site.hub_namespace, site.hub)]),
            "kueue": is_one_of([_kueue(site)]),
            "submits": either("variables.kueue", _submits(site)),
            "controlled": f"({_CONTROLLER}) && {_CONTROLLED}",
            "ofJob": f"({_CONTROLLER}) && {_OF_JOB}",
            "gpu": asks_gpu("object.spec"),
            "leased": f"{lease} in variables.labels && variables.labels[{lease}] != ''",
            "held": gate.format("object"),
            "wasHeld": f"oldObject != null && {gate.format('oldObject')}",
        },
        {
            "only the hub writes labels of gpu-commons.dev on pods; "
            "start a server on the hub, and submit jobs without them": either(
                "variables.hub", unchanged(_OURS)
            ),
            "only Kueue and who may submit jobs here write Kueue's labels; "
            "ask an administrator to be among the submitters": either(
                "variables.submits",
                "oldObject == null && variables.controlled",
                unchanged(_KUEUES),
            ),
            "a GPU comes by a lease or through a queue; start a server on the hub, "
            "or submit a job to the queue of the project": either(
                "oldObject != null",
                "!variables.gpu",
                "variables.hub && variables.leased",
                f"variables.held && {quoted(_QUEUE)} in variables.labels",
                "variables.ofJob",
            ),
            "only the hub puts a pod into a further network; "
            "let an administrator name it in the project's network": either(
                "variables.hub",
                _networks_unchanged(),
            ),
            "only Kueue lets a queued pod go; wait for its turn": either(
                "variables.kueue", "!variables.wasHeld", "variables.held"
            ),
            "a server is not queued a second time; take Kueue's labels off it": either(
                "!variables.leased", f"!({quoted(_QUEUE)} in variables.labels)"
            ),
            **_sights(),
        },
    )


def _sights() -> dict[str, str]:
    """Say what a pod shows itself by NVIDIA's variable, written out or brought along unseen."""

    def of_pods(*rules: str) -> str:
        return either("oldObject != null", "variables.hub && variables.leased", " && ".join(rules))

    return {
        "NVIDIA_VISIBLE_DEVICES would show GPUs that this pod has not asked for; "
        "take it away or write void": of_pods(_blind("containers"), _blind("initContainers")),
        "NVIDIA_VISIBLE_DEVICES would show GPUs to whoever looks into this pod; "
        "take it away": _blind("ephemeralContainers"),
        "envFrom may bring NVIDIA_VISIBLE_DEVICES along; name the variables one by one in env, "
        "or write it there as void": (
            f"({of_pods(_named('containers'), _named('initContainers'))}) && "
            f"{_named('ephemeralContainers')}"
        ),
    }


def _networks_unchanged() -> str:
    """Say that the annotations by which Multus adds interfaces are as they were."""
    return " && ".join(
        f"{_annotation('object', key)} == "
        f"(oldObject == null ? '' : {_annotation('oldObject', key)})"
        for key in _NETWORKS
    )


def _annotation(holder: str, key: str) -> str:
    held = f"{holder}.metadata.annotations"
    return f"(has({held}) && {quoted(key)} in {held} ? {held}[{quoted(key)}] : '')"


def _blind(part: str) -> str:
    """Say that no container shows itself a GPU by the variable that NVIDIA's runtime obeys.

    Also one with a GPU of its own may not: what a pod says stands above the device plugin's word.
    """
    return (
        f"(!has(object.spec.{part}) || object.spec.{part}.all(c, !has(c.env) || "
        "c.env.all(e, e.name != 'NVIDIA_VISIBLE_DEVICES' || "
        f"(has(e.value) && e.value in [{_HIDDEN}]))))"
    )


def _named(part: str) -> str:
    """Say that no container takes variables unseen, unless its own word stands above them."""
    return (
        f"(!has(object.spec.{part}) || object.spec.{part}.all(c, "
        "!has(c.envFrom) || size(c.envFrom) == 0 || (has(c.env) && "
        "c.env.exists(e, e.name == 'NVIDIA_VISIBLE_DEVICES' && has(e.value) && "
        "e.value == 'void'))))"
    )


def _templates(site: Site) -> Iterator[Guard]:
    """Guard what makes pods: its pods are made by Kubernetes' own controllers, which are let in."""
    both, queue = ["CREATE", "UPDATE"], quoted(_QUEUE)
    labelled = f"{queue} in {{0}} && {{0}}[{queue}] != ''"
    # Kueue holds a job back by suspending it, before it comes here, and lets it go by an update.
    suspended = "has({0}.spec.suspend) && {0}.spec.suspend"
    waits = either(
        f"oldObject == null && {suspended.format('object')}",
        f"oldObject != null && (variables.kueue || ({suspended.format('object')}) || "
        f"!({suspended.format('oldObject')}))",
    )
    yield _template(
        site,
        "gpu-commons-jobs",
        _rule("batch", "v1", ["jobs"], both),
        "object.spec.template",
        f"({labelled.format('variables.labels')}) && ({waits})",
    )
    job = "object.spec.jobTemplate"
    above = f"({labels_of(job)})"
    yield _template(
        site,
        "gpu-commons-cronjobs",
        _rule("batch", "v1", ["cronjobs"], both),
        f"{job}.spec.template",
        labelled.format(above),
    )
    yield _template(
        site,
        "gpu-commons-sets",
        _rule("apps", "v1", ["deployments", "replicasets", "statefulsets", "daemonsets"], both),
        "object.spec.template",
        labelled.format("variables.inner"),
    )
    yield _template(
        site,
        "gpu-commons-replicationcontrollers",
        _rule("", "v1", ["replicationcontrollers"], both),
        "object.spec.template",
        labelled.format("variables.inner"),
    )


def _template(site: Site, name: str, rule: dict[str, Any], template: str, queued: str) -> Guard:
    old = template.replace("object", "oldObject", 1)
    return Guard(
        name,
        (rule,),
        {
            "kueue": is_one_of([_kueue(site)]),
            "trusted": either("variables.kueue", _CONTROLLER),
            "submits": _submits(site),
            "labels": labels_of("object"),
            "old": f"oldObject == null ? {{}} : ({labels_of('oldObject')})",
            "inner": labels_of(template),
            "innerOld": f"oldObject == null ? {{}} : ({labels_of(old)})",
            "gpu": asks_gpu(f"{template}.spec"),
        },
        {
            "only who may submit jobs here writes Kueue's labels; "
            "ask an administrator to be among the submitters": either(
                "variables.trusted",
                "variables.submits",
                f"{unchanged(_KUEUES)} && "
                + unchanged(_KUEUES, "variables.inner", "variables.innerOld"),
            ),
            "pods of a job carry no label of gpu-commons.dev; take it off": either(
                "variables.trusted",
                unchanged(_OURS, "variables.inner", "variables.innerOld"),
            ),
            "what asks for a GPU waits in the queue of its project; "
            f"write the label {_QUEUE}, and let Kueue start it": either("!variables.gpu", queued),
        },
    )


def _workloads(site: Site) -> Guard:
    governor = user_of(site.hub_namespace, site.governor)
    every = ["CREATE", "UPDATE", "DELETE"]
    return Guard(
        "gpu-commons-workloads",
        (_rule("kueue.x-k8s.io", "*", ["workloads", "workloads/status"], every),),
        {},
        {
            "Workloads are written by the governor and by Kueue alone; "
            "stop a server on the hub, and delete a job itself": either(
                is_one_of([governor, _kueue(site)]), _CONTROLLER
            ),
        },
    )


def _local_queues() -> Guard:
    return Guard(
        "gpu-commons-queues",
        (_rule("kueue.x-k8s.io", "*", ["localqueues"], ["CREATE"]),),
        {},
        {
            "a LocalQueue called default would let every server wait behind its own lease; "
            "give it another name": "object.metadata.name != 'default'",
        },
    )


def _kueue(site: Site) -> str:
    return user_of(site.kueue_namespace, site.kueue)


def _submits(site: Site) -> str:
    groups = [one.removeprefix(_GROUP) for one in site.submitters if one.startswith(_GROUP)]
    users = [one for one in site.submitters if not one.startswith(_GROUP)]
    return is_one_of(users, groups)


def _rule(group: str, version: str, resources: list[str], operations: list[str]) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": operations,
        "resources": resources,
    }
