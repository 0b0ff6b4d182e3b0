"""What the progress page tells of a starting pod: events of the cluster in words for people. Pure.

What the scheduler and the machines write frightens people and helps few; the hub's log has it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hub_ext.i18n import _

from .kube_life import Pod, scheduled, server_status
from .kube_trouble import trouble_of

WORDS = {
    "Scheduled": _("A machine was found."),
    "TriggeredScaleUp": _("The cluster starts another machine for this server: some minutes."),
    "Pulling": _("The machine fetches the image of the environment: the first time takes minutes."),
    "Pulled": _("The image is there."),
    "SuccessfulAttachVolume": _("The project's volume is attached."),
    "Created": _("The server is made."),
    "Started": _("The server's program starts."),
    "Killing": _("The server is being ended."),
}
"""Reason of an event -> what people read."""

STEPS = {"Scheduled": 40, "Pulling": 50, "Pulled": 65, "Created": 75, "Started": 85}
"""Reason of an event -> how far the bar is, in percent."""


def news(
    pod: Pod | None, events: Sequence[Mapping[str, Any]], told: set[str]
) -> list[dict[str, Any]]:
    """Tell what is new; `told` holds what was told before, and grows.

    Parameters
    ----------
    pod
        None where the API has none yet.
    events
        Events of this very pod, oldest first.
    told
        Sentences that this page has shown.
    """
    made = [
        {"progress": STEPS.get(str(one.get("reason")), 30), "message": WORDS[str(one["reason"])]}
        for one in events
        if one.get("reason") in WORDS
    ]
    trouble = None if pod is None else trouble_of(pod, events)
    if trouble is not None:
        made.append({"message": trouble.words})
    new = [one for one in made if one["message"] not in told]
    told.update(str(one["message"]) for one in new)
    return new


def where(pod: Pod | None) -> str:
    """Name the phase of a start: scheduling, pulling or starting."""
    if pod is None or not scheduled(pod):
        return "scheduling"
    state = server_status(pod).get("state") or {}
    last = server_status(pod).get("lastState") or {}
    return "starting" if state.get("running") or state.get("terminated") or last else "pulling"
