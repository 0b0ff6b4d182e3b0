"""The watch over a pod that starts: until it serves, or until waiting plainly helps nobody.

KubeSpawner itself waits for its whole time-out, whatever is wrong with a pod.
"""

import asyncio
import time

from aiohttp import ClientError
from traitlets import Float, default

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _

from .kube_access import PodAccess
from .kube_answers import refusal
from .kube_life import Pod
from .kube_news import where
from .kube_patience import Limits, Patience
from .kube_trouble import Trouble, Urgency, too_long, trouble_of

LOOK_S = 0.5
"""Between two looks at a pod that starts or ends."""


class WatchedStart(PodAccess):
    """The half of a governed Kubernetes spawner that waits for a pod, as long as that is of use."""

    scheduling_timeout = Float(
        120.0, help="Seconds in which the cluster must find a machine for a pod."
    ).tag(config=True)
    scaling_timeout = Float(
        900.0, help="The same, once the cluster has begun to start another machine for it."
    ).tag(config=True)
    pull_timeout = Float(
        900.0, help="Seconds in which its machine must have image and volumes of a pod."
    ).tag(config=True)
    boot_timeout = Float(
        180.0, help="Seconds in which the server's program must come up after that."
    ).tag(config=True)
    trouble_timeout = Float(
        60.0,
        help="Seconds that a trouble is borne which a machine may mend by trying again, such as a "
        "registry that does not answer.",
    ).tag(config=True)

    trouble: Trouble | None = None

    @default("start_timeout")
    def _all_phases(self) -> int:
        whole = self.scaling_timeout + self.pull_timeout + self.boot_timeout
        return int(whole + 60)

    async def watch_start(self) -> Trouble:
        """Look at the pod until there is a reason to give up."""
        patience = Patience(self._limits(), time.monotonic())
        seen = False
        while True:
            await asyncio.sleep(LOOK_S)
            pod = self.reflected()
            if pod is None and seen and not await self._still_there():
                return self.trouble or trouble_of(None) or too_long("starting", 0)
            seen = seen or pod is not None
            events = [] if pod is None else self.events_of(pod)
            found = None if pod is None else trouble_of(pod, events)
            scaling = any(one.get("reason") == "TriggeredScaleUp" for one in events)
            given_up = patience.judge(where(pod), found, time.monotonic(), scaling=scaling)
            if given_up is not None:
                return given_up
            if found is not None:
                self.trouble = found if found.urgency is Urgency.end else self.trouble

    def _limits(self) -> Limits:
        return Limits(
            scheduling=self.scheduling_timeout,
            pulling=self.pull_timeout,
            starting=self.boot_timeout,
            scaling=self.scaling_timeout,
            trouble=self.trouble_timeout,
            # Before the hub's own limit, whose words say nothing.
            whole=max(self.start_timeout - 5, 1),
        )

    def reflected(self) -> Pod | None:
        """Give the pod of this attempt as the watch has it."""
        reflector = self.pod_reflector
        seen: Pod | None = None if reflector is None else reflector.pods.get(self.place.key)
        return seen if seen is not None and self.is_ours(seen) else None

    async def _still_there(self) -> bool:
        try:
            found = await self.read(self.place)
        except UnreachableError:
            return True
        return found is not None and self.is_ours(found)

    def cannot_start(self, error: Exception) -> RefusedError:
        """Turn what KubeSpawner raises into a refusal: anything else moves the hub to its exit."""
        if hasattr(error, "status") and hasattr(error, "body"):
            return refusal(error, self.namespace)
        if isinstance(error, UnreachableError | OSError | ClientError):
            seen = self.reflected()
            found = None if seen is None else trouble_of(seen, self.events_of(seen))
            if found is None and isinstance(error, TimeoutError) and seen is not None:
                found = too_long(where(seen), int(self.start_timeout))
            if found is not None:
                self.trouble = found
                return RefusedError(found.code, found.words, retry_after_s=60)
            return refusal(error, self.namespace)
        return RefusedError(
            "cannot-start",
            _(
                "The server could not be started as the hub is set ({why}). Tell an administrator: "
                "the hub's log has the rest."
            ).format(why=f"{type(error).__name__}: {error}"[:200]),
        )
