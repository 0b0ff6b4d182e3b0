"""Why a request is pending, in Kueue's words and reasons, with the figures behind them."""

from ...i18n import _
from .flavors import Assignment, Mode, Shortfall
from .values import Pending, Queue, Workload


def pending(workload: Workload, assignment: Assignment) -> Pending:
    """Say why a request that was tried found no quota."""
    figures: dict[str, int | str] = {"queue": workload.queue, "priority": workload.priority}
    if assignment.uncovered is not None:
        message = _("resource {resource} unavailable in ClusterQueue").format(
            resource=assignment.uncovered
        )
        return Pending("Misconfigured", message, {**figures, "resource": assignment.uncovered})
    if not assignment.shortfalls:
        return Pending("NoMatchingFlavor", _("no flavor matches the node selector"), figures)
    message = ", ".join(_short(one) for one in assignment.shortfalls)
    never = assignment.mode is Mode.no_fit and all(
        one.units > one.most for one in assignment.shortfalls
    )
    worst = assignment.shortfalls[-1]
    figures |= {
        "flavor": worst.pair[0],
        "resource": worst.pair[1],
        "requested": worst.units,
        "available": worst.available,
        "most": worst.most,
        "short": worst.units - (worst.most if never else worst.available),
    }
    return Pending("ExceedsMaxQuota" if never else "WaitingForQuota", message, figures)


def _short(one: Shortfall) -> str:
    flavor, resource = one.pair
    if one.units > one.most:
        return _(
            "insufficient quota for {resource} in flavor {flavor}, "
            "request > maximum capacity ({units} > {most})"
        ).format(resource=resource, flavor=flavor, units=one.units, most=one.most)
    return _(
        "insufficient unused quota for {resource} in flavor {flavor}, {short} more needed"
    ).format(resource=resource, flavor=flavor, short=one.units - one.available)


def preempting(workload: Workload, victims: int) -> Pending:
    """Say that room is being made."""
    message = _("preempting {count} workload(s) and waiting for their end").format(count=victims)
    return Pending("WaitingForQuota", message, {"queue": workload.queue, "victims": victims})


def skipped(workload: Workload) -> Pending:
    """Say that another head of the same cycle was faster."""
    message = _("Workload no longer fits after processing another workload")
    return Pending("WaitingForQuota", message, {"queue": workload.queue})


def overlapping(workload: Workload) -> Pending:
    """Say that another head of the same cycle takes the same victims."""
    message = _("Workload has overlapping preemption targets with another workload")
    return Pending("WaitingForQuota", message, {"queue": workload.queue})


def unplaced(workload: Workload) -> Pending:
    """Say that quota is there and no place is."""
    message = _("quota is free, but no place for it")
    return Pending("WaitingForQuota", message, {"queue": workload.queue})


def untried(queue: Queue, workload: Workload, ahead: int) -> Pending:
    """Say why a request was not tried: others come first, or its queue admits nothing."""
    if not queue.active:
        message = _("ClusterQueue {queue} is inactive").format(queue=queue.name)
        return Pending("Misconfigured", message, {"queue": queue.name})
    message = _("tried in the next cycle")
    if ahead:
        message = _("{count} workload(s) of the queue come first").format(count=ahead)
    return Pending("WaitingForQuota", message, {"queue": workload.queue, "ahead": ahead})
