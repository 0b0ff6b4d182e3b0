"""A Workload of the API as what the governor sees: phase, reason in Kueue's words, units. Pure.

Foreign Workloads may hold anything that Kueue allows, so nothing is taken for given.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from ..errors import UnitError
from ..lease import LeaseId, PoolName
from . import names
from .engine import DEACTIVATED, Gone, Phase, Seen
from .objects import Body
from .quantity import whole

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def seen(body: Body) -> Seen:
    """Read one Workload.

    Ours are those whose lease label is their own name; a copied label makes no lease.
    """
    meta, spec, status = _part(body, "metadata"), _part(body, "spec"), _part(body, "status")
    labels: dict[str, str] = _part(meta, "labels")
    stands = _conditions(status)
    phase = _phase(spec, stands)
    told = stands.get(_TELLING[phase], {})
    evicted = stands.get("Evicted", {})
    ours = _lease(meta)
    return Seen(
        lease_id=ours,
        name=meta["name"],
        namespace=meta.get("namespace", ""),
        uid=meta.get("uid", ""),
        phase=phase,
        reason=str(told.get("reason", "")),
        message=str(told.get("message", "")),
        number=int(spec.get("priority") or 0),
        units=_units(spec, status),
        created_at=_instant(meta.get("creationTimestamp")),
        evicted_for=_evicted_for(phase, evicted),
        holds=phase not in (Phase.finished, Phase.deactivated)
        and _is_true(stands, "QuotaReserved"),
        pods_ready=stands.get("PodsReady", {}).get("status") == "True",
        queue=str(spec.get("queueName", "")),
        pool=_pool(labels if ours else {}, spec),
        flavor=_flavor(status),
        owner="" if ours else _owner(meta),
        labels=labels,
        version=str(meta.get("resourceVersion", "")),
    )


def gone(body: Body) -> Gone:
    """Read one that was deleted."""
    meta = _part(body, "metadata")
    return Gone(_lease(meta), meta["name"], meta.get("namespace", ""), meta.get("uid", ""))


_TELLING = {
    Phase.finished: "Finished",
    Phase.deactivated: "Evicted",
    Phase.evicted: "Evicted",
    Phase.admitted: "Admitted",
    Phase.pending: "QuotaReserved",
}
"""Phase and the condition whose reason and message say why."""


def _phase(spec: Body, stands: dict[str, Body]) -> Phase:
    if _is_true(stands, "Finished"):
        return Phase.finished
    if spec.get("active") is False:
        return Phase.deactivated
    # Evicted stays True on one that waits again, until it is admitted anew.
    if _is_true(stands, "QuotaReserved") and _is_true(stands, "Evicted"):
        return Phase.evicted
    return Phase.admitted if _is_true(stands, "Admitted") else Phase.pending


def _is_true(stands: dict[str, Body], kind: str) -> bool:
    return bool(stands.get(kind, {}).get("status") == "True")


def _evicted_for(phase: Phase, evicted: Body) -> str | None:
    if phase is Phase.deactivated:
        return str(evicted.get("reason") or DEACTIVATED)
    return str(evicted.get("reason", "")) if phase is Phase.evicted else None


def _lease(meta: Body) -> LeaseId | None:
    name = _part(meta, "labels").get(names.LABEL_LEASE)
    return LeaseId(name) if name and name == meta["name"] else None


def _units(spec: Body, status: Body) -> int:
    """Count what it holds, else what Kueue counts for it, else what its pods ask for."""
    assigned = _items(_part(status, "admission"), "podSetAssignments")
    if assigned:
        return sum(_quantity(_part(one, "resourceUsage")) for one in assigned)
    counted = _items(status, "resourceRequests")
    if counted:
        return sum(_quantity(_part(one, "resources")) for one in counted)
    return sum(
        int(one.get("count", 1)) * _asked(_part(_part(one, "template"), "spec"))
        for one in _items(spec, "podSets")
    )


def _asked(pod: Body) -> int:
    return sum(
        _quantity(_part(_part(one, "resources"), "requests")) for one in _items(pod, "containers")
    )


def _quantity(resources: Body) -> int:
    try:
        return whole(str(resources.get(names.UNIT, "0")))
    except UnitError:
        return 0


def _pool(labels: dict[str, str], spec: Body) -> PoolName | None:
    named = labels.get(names.LABEL_POOL)
    if named is None:
        selectors: Iterable[Body] = (
            _part(_part(_part(one, "template"), "spec"), "nodeSelector")
            for one in _items(spec, "podSets")
        )
        found = (one.get(names.FLAVOR_LABEL) for one in selectors)
        named = next((one for one in found if one), None)
    return PoolName(named) if named else None


def _flavor(status: Body) -> str:
    assigned = _items(_part(status, "admission"), "podSetAssignments")
    given = (_part(one, "flavors").get(names.UNIT) for one in assigned)
    return next((one for one in given if one), "")


def _owner(meta: Body) -> str:
    owners = _items(meta, "ownerReferences")
    first = next((one for one in owners if one.get("controller")), owners[0] if owners else None)
    return f"{first.get('kind')} {first.get('name')}" if first else str(meta["name"])


def _conditions(status: Body) -> dict[str, Body]:
    return {str(one.get("type")): one for one in _items(status, "conditions")}


def _instant(text: Any) -> datetime:  # noqa: ANN401 - JSON of whoever wrote the object
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return _NEVER


def _part(body: Body, key: str) -> Body:
    found = body.get(key)
    return found if isinstance(found, dict) else {}


def _items(body: Body, key: str) -> list[Body]:
    found = body.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
