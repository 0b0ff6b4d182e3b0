"""Governed servers as pods of a cluster: the grant becomes a pod, and trouble becomes words.

It decides nothing. A pod that is no use any more is ended at once; a lease is reported as ended
only where that is proved.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _
from hub_ext.lease import Liveness, Offer, PodTerms, Reason, pod_liveness, pod_machine_lost

from .governed import GovernedMixin, grant_words
from .kube_life import (
    Pod,
    doomed,
    exit_code_of,
    server_over,
)
from .kube_news import news
from .kube_start import LOOK_S, WatchedStart
from .kube_traits import TABLE, Asked, traits
from .kube_trouble import Trouble, Urgency, trouble_of
from .terms import NO_DEVICE, Terms
from .trace import Container, Trace

END_S = 3
"""How much longer than its grace a pod is waited for that a poll has ended."""

FORMER_S = 1.5
"""How long a start waits for a pod of an earlier one to be gone; ask and refusal must fit into the
hub's `slow_spawn_timeout` besides."""

UNKNOWN_CODE = 1
_FATAL = frozenset({"crashing", "out-of-memory", "no-server-inside"})


class GovernedKubeSpawner(GovernedMixin, WatchedStart):
    """Starts each server as a pod under the terms that the governor granted."""

    pod_terms: PodTerms | None = None
    ended_with: int | None = None
    follow_period = 10.0
    """Seconds between two looks at a pod that did not end in time."""
    proved_gone = False
    launch_over = False
    site: Mapping[str, Any] | None = None
    _said: ClassVar[set[str]] = set()
    _followed: ClassVar[dict[str, asyncio.Task[None]]] = {}

    def separates_devices(self) -> bool:
        """Containers see only the devices that the machine's plugin gives them."""
        return True

    async def load_user_options(self) -> None:
        """Do nothing: options are the policy's, and were read by `apply_user_options`."""

    # -- start ---------------------------------------------------------------------------------

    def apply_terms(self, terms: Terms) -> None:
        """Copy the grant to traits, by the one table; of the site's own what does no harm."""
        super().apply_terms(terms)
        if self.site is None:
            self.site = {name: getattr(self, name) for name in TABLE}
        pod = self._terms_of_pod(terms)
        asked = Asked(pod, terms.cpu_millis, terms.memory_bytes, terms.attempt_id, self._claim(pod))
        values, notes = traits(asked, self.site)
        for name, value in values.items():
            setattr(self, name, value)
        for note in notes:
            self._say_once(note)
        self.pod_terms, self.attempt_id = pod, terms.attempt_id
        self.dns_name = self.dns_name_template.format(namespace=self.namespace, name=self.pod_name)
        # What is known of the hub's own volume is known of another namespace, perhaps.
        self._pvc_exists = False
        if self.trace is not None:
            self.trace = self.trace.model_copy(update={"container": self.place})

    def may_start_alone(self, offer: Offer) -> bool:
        """Only where it is known what its pod is made of: a namespace is never guessed."""
        return offer.kube is not None

    def _terms_of_pod(self, terms: Terms) -> PodTerms:
        if terms.kube is None:
            raise RefusedError(
                "no-pod-terms",
                _(
                    "The governor does not know that servers are pods here, so it did not say of "
                    "what to make yours. An administrator sets the governor's engine."
                ),
            )
        return terms.kube

    def _claim(self, pod: PodTerms) -> str | None:
        volume = pod.volume
        if volume is None or volume.shared:
            return None if volume is None else volume.claim
        own: str = self._expand_user_properties("{user_server}", slug_scheme="safe")
        return f"{volume.claim}-{own}"

    def _say_once(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            self.log.warning("GPU Commons leaves out a setting of KubeSpawner: %s", words)

    def get_env(self) -> dict[str, Any]:
        """Environment of the server; which GPU it sees is for the machine's plugin to say."""
        env: dict[str, Any] = dict(super().get_env())
        for name, value in list(env.items()):
            if isinstance(value, Mapping) and value.get("name", name) != name:
                # KubeSpawner would set a variable of another name than its key.
                del env[name]
                self._say_once(
                    _("environment: {name}: its entry has another name").format(name=name)
                )
        env.pop("GPU_COMMONS_SIM_FILE", None)
        if self.pod_terms is not None and self.pod_terms.resource_name is not None:
            return {name: value for name, value in env.items() if name not in NO_DEVICE}
        return {**env, **NO_DEVICE}

    async def launch(self) -> Any:  # noqa: ANN401 - as the hub's own spawner
        """Start, and give up as soon as it is plain that waiting helps nobody."""
        self._keep_state()
        self.launch_over, self.trouble = False, None
        try:
            await self._make_claims()
            return await self._launched()
        finally:
            self.launch_over = True

    async def _launched(self) -> Any:  # noqa: ANN401 - as the hub's own spawner
        starting = asyncio.ensure_future(super().launch())
        watching = asyncio.ensure_future(self.watch_start())
        try:
            await asyncio.wait({starting, watching}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                return starting.result()
            self.trouble = watching.result()
        except RefusedError:
            raise
        except Exception as error:
            self.log.exception("The pod of %s could not be made", self._log_name)
            raise self.cannot_start(error) from error
        finally:
            for task in (starting, watching):
                task.cancel()
            await asyncio.gather(starting, watching, return_exceptions=True)
        self.log.warning(
            "Start of %s given up: %s: %s", self._log_name, self.trouble.code, self.trouble.words
        )
        await self.end_pod(self.place, self.attempt_id, self.delete_grace_period)
        raise RefusedError(self.trouble.code, self.trouble.words, retry_after_s=60)

    async def _make_claims(self) -> None:
        pod = self.pod_terms
        if pod is None or pod.volume is None:
            return
        name = self._claim(pod)
        if name is not None:
            kept = {k: v for k, v in pod.labels.items() if k.rpartition("/")[2] in _OF_A_VOLUME}
            await self.make_claim(pod.volume, name, kept)

    def _keep_state(self) -> None:
        """Write down now what would be lost with a hub that dies before `start` returns."""
        self.orm_spawner.state = self.get_state()
        self.user.db.commit()

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Tell what was granted, and how its pod comes along, in words for people."""
        if self.grant is not None:
            yield {"progress": 20, "message": grant_words(self.grant)}
        told: set[str] = set()
        while True:
            over = self.launch_over
            pod = self.reflected()
            for one in news(pod, [] if pod is None else self.events_of(pod), told):
                yield one
            if over:
                return
            await asyncio.sleep(1)

    # -- while it runs -------------------------------------------------------------------------

    async def poll(self) -> int | None:
        """Tell whether the server runs, and see to it that a pod that is no use does not stay."""
        if self.asking:
            return None
        if self.trace is not None and not self.trace.launched:
            # A refused start made nothing. What an earlier one left is `former`, and the hub would
            # wait for its end before it shows the refusal.
            return UNKNOWN_CODE
        try:
            pod = await self.look()
        except UnreachableError as error:
            self.log.warning("Cannot tell whether %s runs: %s", self._log_name, error)
            return None
        if pod is None:
            self._remember(trouble_of(None), self.ended_with)
            return UNKNOWN_CODE if self.ended_with is None else self.ended_with
        if self.attempt_id and not self.is_ours(pod):
            return UNKNOWN_CODE
        return await self._poll_pod(pod)

    async def _poll_pod(self, pod: Pod) -> int | None:
        found = trouble_of(pod, self.events_of(pod))
        fatal = found is not None and found.urgency is Urgency.end and found.code in _FATAL
        if server_over(pod) or fatal:
            code = exit_code_of(pod)
            self._remember(found, UNKNOWN_CODE if code is None else code)
            await self._end(self.delete_grace_period, self.delete_grace_period + END_S)
            return self.ended_with
        if doomed(pod):
            self._remember(found, UNKNOWN_CODE)
            await self._end(self.delete_grace_period, 0)
            return UNKNOWN_CODE
        if pod_machine_lost(pod) or self.reflected() is None:
            return None
        status: int | None = await super().poll()
        return status

    def _remember(self, found: Trouble | None, code: int | None) -> None:
        asked = self.trace is not None and self.trace.asked
        if self.trouble is None and found is not None and not asked:
            self.trouble = found
            self.log.warning("%s ended: %s: %s", self._log_name, found.code, found.words)
        self.ended_with = code

    async def exit_code(self) -> int | None:
        """With what the server ended, as far as a poll has seen it."""
        return self.ended_with

    def end_reason(self) -> Reason | None:
        """Why it ended, where something was wrong with its pod."""
        if self.trouble is None:
            return None
        return Reason(code=self.trouble.code, message=self.trouble.words)

    # -- end -----------------------------------------------------------------------------------

    async def stop(self, now: bool = False) -> None:  # noqa: FBT001, FBT002 - the hub's signature
        """Ask the pod to end, and wait a while. What is not gone then is followed to its end."""
        if self.trace is not None and self.trouble is None:
            self.trace = self.trace.model_copy(update={"asked": True})
        await self._end(0 if now else self.delete_grace_period, self.stop_timeout)

    async def _end(self, grace_s: int, within_s: float) -> None:
        """End the pod; where that takes longer than one may wait, go on in the background.

        It raises nothing: the hub would forget the server all the same.
        """
        trace = self.trace
        place = self.place if trace is None or trace.container is None else trace.container
        if await self._gone_within(place, self.attempt_id, within_s, grace_s):
            return
        self.log.error("%s is not gone after %d s; its lease stays open", place.key, within_s)
        if trace is not None and trace.attempt_id not in self._followed:
            task = asyncio.create_task(self._follow(trace, place))
            self._followed[trace.attempt_id] = task
            task.add_done_callback(lambda _done: self._followed.pop(trace.attempt_id, None))

    async def _gone_within(
        self, place: Container, attempt_id: str, within_s: float, grace_s: int
    ) -> bool:
        until, asked = time.monotonic() + within_s, False
        while True:
            asked = asked or await self.end_pod(place, attempt_id, grace_s)
            if await self._standing(place, attempt_id) is Liveness.gone:
                return True
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(LOOK_S)

    async def _follow(self, trace: Trace, place: Container) -> None:
        """Report the end when it comes: until then the lease holds its GPU."""
        while await self._standing(place, trace.attempt_id) is not Liveness.gone:
            await asyncio.sleep(self.follow_period)
            await self.end_pod(place, trace.attempt_id, self.delete_grace_period)
        self.report_gone(trace)

    async def _standing(self, place: Container, attempt_id: str) -> Liveness:
        """Tell from the API itself whether the pod of an attempt lives."""
        try:
            return pod_liveness(await self.pod_of(place, attempt_id))
        except UnreachableError as error:
            self.log.warning("Cannot tell whether a pod lives: %s", error)
            return Liveness.unknown

    async def liveness(self) -> Liveness:
        """Tell what is proved of the server now; a failed pod that stays is ended besides."""
        trace = self.trace
        if trace is None or trace.container is None:
            return Liveness.gone
        now = await self._standing(trace.container, trace.attempt_id)
        self.proved_gone = now is Liveness.gone
        return now

    async def former_liveness(self) -> Liveness:
        """Whether a pod of an earlier start lives; it is asked to end, and given a moment."""
        former = self.former
        if former is None or former.container is None:
            return Liveness.gone
        gone = await self._gone_within(
            former.container, former.attempt_id, FORMER_S, self.delete_grace_period
        )
        return Liveness.gone if gone else Liveness.alive

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take the state back after a hub restart."""
        super().load_state(state)
        if self.trace is not None:
            self.attempt_id = self.trace.attempt_id

    def clear_state(self) -> None:
        """Drop the attempt; a pod that is not proved gone stays known."""
        left = self.trace
        super().clear_state()
        if left is not None and left.launched and left.container and not self.proved_gone:
            self.former = left
        self.attempt_id, self.proved_gone, self.ended_with = "", False, None

    async def delete_forever(self) -> None:
        """Delete what is the person's own; volumes of projects stay."""
        self.log.info("Volumes of projects stay when %s is deleted", self._log_name)
        await super().delete_forever()


_OF_A_VOLUME = frozenset({"managed-by", "team", "project"})
"""Labels of a lease that its project's volume carries too; the others are of one server."""
