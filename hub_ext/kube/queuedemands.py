"""What is demanded of one ClusterQueue and of one flavor: rules that hold for any site's own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from ..i18n import _
from . import names
from .objects import Body


class Weight(StrEnum):
    """How grave a breach is."""

    wrong = "wrong"
    """A promise of this product would be broken; the engine is not used."""
    doubt = "doubt"
    """It may be harmless, or could not be looked at."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A demand that is not kept: a stable code, what happens, and the remedy.

    `queues` are the ClusterQueues that it concerns; none is all of them.
    """

    code: str
    weight: Weight
    words: str
    remedy: str
    queues: frozenset[str] = frozenset()


_PREEMPTION = {
    "reclaimWithinCohort": ("LowerPriority", _("guaranteed leases would be taken, or none at all")),
    "withinClusterQueue": ("Never", _("a team would take its own members' leases in a loop")),
    "borrowWithinCohort": ("Never", _("who borrows would take from others who borrow")),
}
"""Setting of a queue's preemption: the one value that is right, and what another one does."""


def of_queue(queue: Body) -> Iterator[Breach]:
    """Name what is wrong with one ClusterQueue."""
    mine = frozenset({str(queue["metadata"]["name"])})
    yield from (replace(one, queues=mine) for one in _of_queue(queue))


def _of_queue(queue: Body) -> Iterator[Breach]:
    name, spec = str(queue["metadata"]["name"]), queue.get("spec") or {}
    preemption = spec.get("preemption") or {}
    for setting, (right, harm) in _PREEMPTION.items():
        found = preemption.get(setting, "Never")
        found = found.get("policy", "Never") if isinstance(found, dict) else found
        # A pool whose leases are never called in is rendered without any reclaim.
        if found not in {right, "Never"}:
            yield _of(
                name,
                "preemption",
                _("{setting} is {found}: {harm}").format(setting=setting, found=found, harm=harm),
                _("set it to {right}").format(right=right),
            )
    if preemption.get("reclaimWithinCohort", "Never") == "Never" and _cohort(spec):
        yield _of(
            name,
            "no-reclaim",
            _("reclaimWithinCohort is Never: what was lent never comes back by force"),
            _("set it to LowerPriority, where lending is to end on demand"),
            Weight.doubt,
        )
    yield from _of_admission(name, spec)


def _of_admission(name: str, spec: Body) -> Iterator[Breach]:
    checks = spec.get("admissionChecks") or (spec.get("admissionChecksStrategy") or {}).get(
        "admissionChecks"
    )
    if checks:
        yield _of(
            name,
            "admission-check",
            _("an AdmissionCheck holds its leases after they have quota"),
            _("remove admissionChecksStrategy"),
        )
    if spec.get("stopPolicy", "None") != "None":
        yield _of(name, "stopped", _("it is stopped"), _("set its stopPolicy to None"))
    if spec.get("queueingStrategy", "BestEffortFIFO") != "BestEffortFIFO":
        yield _of(
            name,
            "strict",
            _("it is StrictFIFO: a large request keeps all behind it waiting, without a word"),
            _("set queueingStrategy to BestEffortFIFO"),
        )
    if spec.get("fairSharing") or spec.get("admissionScope"):
        yield _of(
            name,
            "fair-sharing",
            _("fair sharing of its own changes whose turn it is"),
            _("remove fairSharing and admissionScope"),
        )
    groups = spec.get("resourceGroups") or []
    if not any(names.UNIT in (one.get("coveredResources") or []) for one in groups):
        yield _of(
            name,
            "uncovered",
            _("it has no quota of {resource}").format(resource=names.UNIT),
            _("run `gpu-commons render --apply`"),
        )


def of_flavor(flavor: Body) -> Iterator[Breach]:
    """Name what is wrong with one ResourceFlavor."""
    name, spec = str(flavor["metadata"]["name"]), flavor.get("spec") or {}
    if spec.get("topologyName"):
        yield _of(
            name,
            "topology",
            _("it has a topology: a lease never fits, as its units are on no node"),
            _("remove topologyName"),
        )
    if names.FLAVOR_LABEL not in (spec.get("nodeLabels") or {}):
        yield _of(
            name,
            "unlabelled",
            _("it does not carry the label {label}: leases of any pool would take it").format(
                label=names.FLAVOR_LABEL
            ),
            _("run `gpu-commons render --apply`"),
        )
    if spec.get("nodeTaints") and not spec.get("tolerations"):
        yield _of(
            name,
            "taints",
            _("it has taints that no lease tolerates"),
            _("add the tolerations to the flavor, or remove its nodeTaints"),
        )


def _cohort(spec: Body) -> str:
    # v1beta1 called it `cohort`.
    return str(spec.get("cohortName") or spec.get("cohort") or "")


def _of(name: str, code: str, words: str, remedy: str, weight: Weight = Weight.wrong) -> Breach:
    return Breach(code, weight, _("{name}: {words}").format(name=name, words=words), remedy)
