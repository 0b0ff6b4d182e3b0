"""From a pod and its events to what is wrong with it, in words for whoever waits. Pure.

Each diagnosis says what is, and whom or what it takes to change it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from hub_ext.i18n import _
from hub_ext.lease import pod_disruption

from .kube_causes import (
    ends_words,
    eviction_words,
    gate_words,
    pull_cause,
    pull_words,
    setup_words,
    unschedulable_words,
)
from .kube_life import (
    Pod,
    condition,
    deleting,
    doomed,
    ended,
    exit_code_of,
    phase,
    restarts,
    scheduled,
    server_status,
    statuses,
    waiting_reason,
)

CRASHES = 3
"""Restarts of a server after which it is ended: the fourth start would end like those before."""

OOMS = 2
"""The same where it was out of memory: its size is the profile's, and does not change."""

IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
SETUP_REASONS = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "PreCreateHookError",
    }
)
SETUP_EVENTS = frozenset({"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"})
NEVER_STARTED = frozenset({"StartError", "ContainerCannotRun"})


class Urgency(StrEnum):
    """How long it is worth to wait that a trouble goes by itself."""

    end = "end"
    """Not at all."""
    soon = "soon"
    """A short while: the machine tries again by itself."""
    wait = "wait"
    """As long as its phase may take."""


class Trouble(NamedTuple):
    """What is wrong: a stable code, words for people, how urgent it is."""

    code: str
    words: str
    urgency: Urgency


def trouble_of(pod: Pod | None, events: Sequence[Mapping[str, Any]] = ()) -> Trouble | None:
    """Say what is wrong with a pod; None while nothing is.

    Parameters
    ----------
    pod
        As the API has it; None where it had one and has it no more.
    events
        Events of this very pod, oldest first.
    """
    if pod is None:
        return Trouble("deleted", ends_words("deleted"), Urgency.end)
    for look in (_over, _unplaced, _image, _setup, _crashing, _shaken):
        found = look(pod, events)
        if found is not None:
            return found
    return None


def _over(pod: Pod, _events: Sequence[Mapping[str, Any]]) -> Trouble | None:
    """What took it away: each of these is for good."""
    told = pod.get("status") or {}
    message = str(told.get("message") or condition(pod, "DisruptionTarget").get("message") or "")
    if told.get("reason") == "Evicted":
        return Trouble("evicted", eviction_words(message), Urgency.end)
    if doomed(pod):
        return Trouble("machine-lost", ends_words("lost"), Urgency.end)
    if why := pod_disruption(pod):
        code = "taken-by-cluster" if why == "PreemptionByScheduler" else "drained"
        words = ends_words("preempted" if code == "taken-by-cluster" else "drained")
        return Trouble(code, words, Urgency.end)
    if phase(pod) == "Failed":
        return _failed(pod, str(told.get("reason") or ""), message)
    return _gone_by_itself(pod)


def _gone_by_itself(pod: Pod) -> Trouble | None:
    if ended(pod):
        return Trouble("ended", ends_words("ended", exit_code_of(pod)), Urgency.end)
    if deleting(pod):
        return Trouble("deleted", ends_words("deleted"), Urgency.end)
    return None


def _failed(pod: Pod, reason: str, message: str) -> Trouble:
    if "devices unavailable" in message or reason.startswith("OutOf"):
        return Trouble("device-missing", ends_words("devices"), Urgency.end)
    if reason in ("NodeShutdown", "Terminated"):
        return Trouble("drained", ends_words("drained"), Urgency.end)
    if _out_of_memory(pod):
        return Trouble("out-of-memory", ends_words("memory"), Urgency.end)
    return Trouble("failed", ends_words("failed", exit_code_of(pod)), Urgency.end)


def _unplaced(pod: Pod, _events: Sequence[Mapping[str, Any]]) -> Trouble | None:
    told = condition(pod, "PodScheduled")
    if scheduled(pod) or told.get("status") != "False":
        return None
    if told.get("reason") == "SchedulingGated":
        gates = [str(one.get("name")) for one in (pod["spec"].get("schedulingGates") or ())]
        return Trouble("gated", gate_words(gates), Urgency.wait)
    words = unschedulable_words(str(told.get("message") or ""))
    return Trouble("unschedulable", words, Urgency.wait)


def _image(pod: Pod, events: Sequence[Mapping[str, Any]]) -> Trouble | None:
    for told in statuses(pod):
        reason = waiting_reason(told)
        if reason in IMAGE_REASONS:
            message = str(told["state"]["waiting"].get("message") or "")
            said = " ".join([reason, message, *_messages(events, {"Failed", "InspectFailed"})])
            cause = pull_cause(said)
            words = pull_words(cause, str(told.get("image") or ""))
            return Trouble("image-pull", words, Urgency.end if cause.final else Urgency.soon)
    return None


def _setup(pod: Pod, events: Sequence[Mapping[str, Any]]) -> Trouble | None:
    for told in statuses(pod):
        if waiting_reason(told) in SETUP_REASONS:
            message = str(told["state"]["waiting"].get("message") or "")
            final = "runAsNonRoot" in message
            return Trouble(
                "not-set-up", setup_words(message), Urgency.end if final else Urgency.soon
            )
    if server_status(pod).get("started") or not scheduled(pod):
        return None
    told_last = _messages(events[-1:], SETUP_EVENTS)
    return Trouble("not-set-up", setup_words(told_last[-1]), Urgency.soon) if told_last else None


def _crashing(pod: Pod, _events: Sequence[Mapping[str, Any]]) -> Trouble | None:
    told = server_status(pod)
    last = (told.get("lastState") or {}).get("terminated") or (told.get("state") or {}).get(
        "terminated"
    )
    if not last:
        return None
    down = not (told.get("state") or {}).get("running")
    if last.get("reason") in NEVER_STARTED:
        return Trouble("no-server-inside", ends_words("no-server"), Urgency.end)
    if _out_of_memory(pod):
        final = down and restarts(pod) >= OOMS
        return Trouble(
            "out-of-memory", ends_words("memory"), Urgency.end if final else Urgency.wait
        )
    if not down and told.get("ready"):
        return None
    final = down and restarts(pod) >= CRASHES
    words = ends_words("crashing", exit_code_of(pod))
    return Trouble("crashing", words, Urgency.end if final else Urgency.wait)


def _out_of_memory(pod: Pod) -> bool:
    told = server_status(pod)
    return any(
        ((told.get(key) or {}).get("terminated") or {}).get("reason") == "OOMKilled"
        for key in ("state", "lastState")
    )


def _shaken(pod: Pod, _events: Sequence[Mapping[str, Any]]) -> Trouble | None:
    """Whether its machine is silent, which may pass."""
    told = condition(pod, "Ready")
    if phase(pod) == "Unknown" or told.get("reason") == "NodeStatusUnknown":
        return Trouble("machine-silent", ends_words("silent"), Urgency.wait)
    return None


def _messages(events: Sequence[Mapping[str, Any]], reasons: frozenset[str] | set[str]) -> list[str]:
    return [str(one.get("message") or "") for one in events if one.get("reason") in reasons]


def too_long(where: str, seconds: int) -> Trouble:
    """Say that a phase took too long, where nothing else is known to be wrong."""
    match where:
        case "scheduling":
            words = _(
                "The cluster has found no machine for this server within {seconds} s and does not "
                "say why. Try again in a few minutes; if this stays, tell an administrator."
            )
        case "pulling":
            words = _(
                "The machine was not ready with image and volumes of this server within "
                "{seconds} s. Try again: what was fetched so far is kept. If this stays, tell an "
                "administrator."
            )
        case _:
            words = _(
                "The server's program did not come up within {seconds} s. Try again; if this "
                "stays, its image may be at fault: tell whoever keeps your project's environment."
            )
    return Trouble(f"{where}-too-long", words.format(seconds=seconds), Urgency.end)
