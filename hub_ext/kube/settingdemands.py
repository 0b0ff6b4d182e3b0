"""What is demanded of Kueue's own configuration, which belongs to whoever installed it. Pure."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from ..errors import UnitError
from ..i18n import _
from ..units import parse_duration
from . import names
from .objects import Body
from .queuedemands import Breach, Weight
from .selectors import NAME_LABEL, labels_of, selects

SHORTEST_READY = timedelta(seconds=60)
"""The governor reports an admitted lease at once, and again after an outage of its own."""

_MANAGED = {
    "matchExpressions": [
        {"key": NAME_LABEL, "operator": "NotIn", "values": ["kube-system", "kueue-system"]}
    ]
}
"""Kueue's own default of which namespaces it manages."""


def held_back(space: Body, settings: Body | None, *, default: bool) -> Iterator[Breach]:
    """Whether Kueue would hold the servers' own pods of a namespace back.

    Parameters
    ----------
    settings
        Kueue's configuration; None is taken for its default.
    default
        Whether the namespace has a LocalQueue called `default`.
    """
    name, known = str(space["metadata"]["name"]), settings or {}
    if not selects(known.get("managedJobsNamespaceSelector", _MANAGED), labels_of(space)):
        return
    apart = _("take {namespace} out of Kueue's managedJobsNamespaceSelector, or {other}")
    if default:
        yield Breach(
            "default-queue",
            Weight.wrong,
            _(
                "namespace {namespace} has a LocalQueue called default: "
                "a server's pod would wait behind its own lease for ever"
            ).format(namespace=name),
            apart.format(namespace=name, other=_("give that queue another name")),
        )
    if known.get("manageJobsWithoutQueueName") is True:
        yield Breach(
            "manage-all",
            Weight.wrong,
            _("Kueue holds every pod of namespace {namespace}, servers too").format(namespace=name),
            apart.format(namespace=name, other=_("set manageJobsWithoutQueueName to false")),
        )


def of_settings(settings: Body | None) -> Iterator[Breach]:
    """Name what is wrong with Kueue's configuration; None could not be read."""
    if settings is None:
        yield Breach(
            "unread",
            Weight.doubt,
            _("Kueue's own configuration could not be read"),
            _(
                "look there by yourself: no fairSharing, no waitForPodsReady.blockAdmission, "
                "manageJobsWithoutQueueName false"
            ),
        )
        return
    if _on(settings.get("fairSharing")):
        yield Breach(
            "fair-sharing",
            Weight.wrong,
            _("Kueue's Fair Sharing is on: it takes guaranteed leases, and takes them in loops"),
            _("remove fairSharing from Kueue's configuration and restart it"),
        )
    yield from _waiting_for_pods(settings.get("waitForPodsReady"))
    yield from _counting(settings.get("resources") or {})


def _waiting_for_pods(rules: Any) -> Iterator[Breach]:  # noqa: ANN401 - a part of somebody's file
    if not _on(rules):
        return
    if rules.get("blockAdmission") is True:
        yield Breach(
            "block-admission",
            Weight.wrong,
            _("one job whose pods do not come up stops all admission, that of servers too"),
            _("set waitForPodsReady.blockAdmission to false"),
        )
    timeout = _lasting(rules.get("timeout"))
    if timeout is not None and timeout < SHORTEST_READY:
        yield Breach(
            "ready-timeout",
            Weight.wrong,
            _("waitForPodsReady evicts a lease after {seconds} s, before we may report it").format(
                seconds=int(timeout.total_seconds())
            ),
            _("set waitForPodsReady.timeout to 5m or more"),
        )


def _on(rules: Any) -> bool:  # noqa: ANN401 - a part of somebody's file
    """Whether a part of the configuration acts: it is there, and no old `enable: false` in it."""
    return isinstance(rules, dict) and rules.get("enable", True) is not False


def _lasting(text: Any) -> timedelta | None:  # noqa: ANN401 - a part of somebody's file
    """Read a plain duration of Go; None where it is absent or a mixed one, which is long."""
    try:
        return parse_duration(str(text))
    except UnitError:
        return None


def _counting(rules: Body) -> Iterator[Breach]:
    """Whether units are counted, and the GPUs of batch jobs as units too."""
    if any(names.UNIT.startswith(one) for one in rules.get("excludeResourcePrefixes") or []):
        yield Breach(
            "excluded",
            Weight.wrong,
            _("Kueue leaves {resource} out of its count, so that everything fits").format(
                resource=names.UNIT
            ),
            _("take it out of resources.excludeResourcePrefixes"),
        )
    outputs = [one.get("outputs") or {} for one in rules.get("transformations") or []]
    if not any(names.UNIT in one for one in outputs):
        yield Breach(
            "two-quotas",
            Weight.doubt,
            _("batch jobs that ask for GPUs do not draw on the quota of leases"),
            _("merge the transformations that `gpu-commons render` prints into it"),
        )
