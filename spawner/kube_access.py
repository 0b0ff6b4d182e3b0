"""KubeSpawner with what it sees and does at the API put right: reads, makes and ends one pod.

It decides nothing about leases. What the API does not answer is unknown, and never "gone".
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import ClientError
from kubernetes_asyncio.client import ApiException, V1DeleteOptions, V1Preconditions
from kubespawner import KubeSpawner
from kubespawner.objects import make_pvc
from traitlets import Float, default

from hub_ext.errors import UnreachableError
from hub_ext.lease import PodTerms, PodVolume

from .kube_answers import message_of, refusal
from .kube_gate import check_pod
from .kube_life import Pod, deleting, phase
from .kube_traits import ATTEMPT_ANNOTATION
from .trace import Container

_OK, _NOT_FOUND, _CONFLICT, _FORBIDDEN = 200, 404, 409, 403
_SHORTEST_GRACE_S = 1
"""With 0 the API forgets a pod at once, while its program may still run and hold its GPU."""

_AWAY = (ClientError, asyncio.TimeoutError, OSError)


class PodAccess(KubeSpawner):
    """The half of a governed Kubernetes spawner that talks to the API."""

    stop_timeout = Float(
        60.0,
        help="Seconds to wait for a pod to be gone after it was asked to end. After that its lease "
        "stays open, and is closed when the pod is gone.",
    ).tag(config=True)

    pod_terms: PodTerms | None = None
    attempt_id: str = ""

    @default("delete_grace_period")
    def _time_to_save(self) -> int:
        # KubeSpawner's own second is too short for kernels to end and files to be written.
        return 10

    # -- looking -------------------------------------------------------------------------------

    @property
    def place(self) -> Container:
        """Where the pod of this server is, or would be."""
        return Container(namespace=self.namespace, name=self.pod_name)

    async def look(self) -> Pod | None:
        """Give the pod as it stands; None where the API has none.

        Raises
        ------
        UnreachableError
            When neither the watch nor the API itself says.
        """
        if await self.watching():
            seen: Pod | None = self.pod_reflector.pods.get(self.place.key)
            if seen is not None:
                return seen
        # A watch that has just begun, or missed something, is no proof that there is none.
        return await self.read(self.place)

    async def watching(self) -> bool:
        """Keep the shared watch alive; False where that cannot be had now."""
        try:
            await self._start_watching_pods()
        except Exception as error:  # noqa: BLE001 - whatever the client raises: nothing is known
            self.log.warning("No watch on pods of %s: %s", self.namespace, message_of(error))
            return False
        return True

    async def _start_reflector(
        self, kind: str, reflector_class: type, *, replace: bool = False, **more: object
    ) -> object:
        # KubeSpawner keeps a watch that never began, or has given up, and says nothing.
        known = self.reflectors.get(self._get_reflector_key(kind))
        task = getattr(known, "watch_task", None)
        over = task is None or task.done()
        dead = known is not None and known.first_load_future.done() and over
        began: object = await super()._start_reflector(
            kind, reflector_class, replace=replace or dead, **more
        )
        return began

    async def read(self, place: Container) -> Pod | None:
        """Ask the API itself for a pod; None where it has none.

        Raises
        ------
        UnreachableError
            When it does not answer, or refuses to.
        """
        try:
            status, body = await asyncio.wait_for(
                self._read_raw(place), self.k8s_api_request_timeout
            )
            if status == _NOT_FOUND:
                return None
            if status != _OK:
                raise UnreachableError(f"{place.key}: {status}")
            found: Pod = json.loads(body)
        except (*_AWAY, ValueError) as error:
            raise UnreachableError(f"{place.key}: {message_of(error)}") from error
        return found

    async def pod_of(self, place: Container, attempt_id: str) -> Pod | None:
        """Ask the API itself for the pod of an attempt; None where its name is free or another's.

        Raises
        ------
        UnreachableError
            When it does not answer, or refuses to.
        """
        pod = await self.read(place)
        if pod is not None and attempt_id and not self.is_ours(pod, attempt_id):
            return None
        return pod

    async def _read_raw(self, place: Container) -> tuple[int, bytes]:
        # As it came: the client's own models refuse what a newer API leaves out.
        answer = await self.api.read_namespaced_pod(
            place.name, place.namespace, _preload_content=False
        )
        return int(answer.status), await answer.read()

    def is_ours(self, pod: Pod, attempt_id: str | None = None) -> bool:
        """Whether a pod is of this attempt; names come again with each start of a server."""
        marks = (pod.get("metadata") or {}).get("annotations") or {}
        return bool(marks.get(ATTEMPT_ANNOTATION) == (attempt_id or self.attempt_id))

    def is_pod_running(self, pod: Pod | None) -> bool:
        """Whether a pod of this attempt serves."""
        if pod is None or not self.is_ours(pod) or deleting(pod) or phase(pod) != "Running":
            return False
        told = pod.get("status") or {}
        containers = told.get("containerStatuses") or ()
        return bool(told.get("podIP") and containers and all(one["ready"] for one in containers))

    def events_of(self, pod: Pod | None) -> list[Mapping[str, Any]]:
        """Events of one pod, oldest first; those of its namesakes before are left out."""
        uid = ((pod or {}).get("metadata") or {}).get("uid")
        return [one for one in self.events if one["involvedObject"].get("uid") == uid]

    # -- making --------------------------------------------------------------------------------

    async def _make_create_pod_request(self, pod: Any, request_timeout: float) -> bool:  # noqa: ANN401 - the client's own model
        if self.pod_terms is not None:
            check_pod(self.api.api_client.sanitize_for_serialization(pod), self.pod_terms)
        try:
            await asyncio.wait_for(
                self.api.create_namespaced_pod(self.namespace, pod), request_timeout
            )
        except TimeoutError:
            return False
        except ApiException as error:
            if error.status != _CONFLICT:
                raise refusal(error, self.namespace) from error
            return await self._take_over()
        return True

    async def _take_over(self) -> bool:
        """Find out whose pod has our name: ours, of a request whose answer was lost, or older."""
        found = await self.read(self.place)
        if found is None:
            return False
        if self.is_ours(found):
            return not deleting(found)
        self.log.warning("A pod of an earlier start stands at %s and is ended", self.place.key)
        await self._delete(self.place, found, self.delete_grace_period)
        return False

    async def make_claim(self, volume: PodVolume, name: str, labels: Mapping[str, str]) -> None:
        """Make the claim of a project's volume where it is missing.

        Raises
        ------
        RefusedError
            When the API refuses it.
        """
        claim = make_pvc(
            name=name,
            storage_class=volume.storage_class,
            access_modes=[volume.access],
            selector=None,
            storage=str(volume.size_bytes),
            labels=dict(labels),
        )
        try:
            await asyncio.wait_for(
                self.api.create_namespaced_persistent_volume_claim(self.namespace, claim),
                self.k8s_api_request_timeout,
            )
        except ApiException as error:
            known = error.status == _CONFLICT or (
                # Quota is judged before it is seen that the claim exists.
                error.status == _FORBIDDEN and await self._has_claim(name)
            )
            if not known:
                raise refusal(error, self.namespace) from error
        except _AWAY as error:
            raise refusal(error, self.namespace) from error

    async def _has_claim(self, name: str) -> bool:
        try:
            await self.api.read_namespaced_persistent_volume_claim(name, self.namespace)
        except ApiException:
            return False
        return True

    # -- ending --------------------------------------------------------------------------------

    async def end_pod(self, place: Container, attempt_id: str, grace_s: int) -> bool:
        """Ask for the end of an attempt's pod; False where the API did not take it.

        A pod of the same name that came after it is another server, and is let be.
        """
        try:
            pod = await self.pod_of(place, attempt_id)
        except UnreachableError as error:
            self.log.warning("%s is not deleted: %s", place.key, error)
            return False
        return pod is None or await self._delete(place, pod, grace_s)

    async def _delete(self, place: Container, pod: Pod, grace_s: int) -> bool:
        grace = max(_SHORTEST_GRACE_S, grace_s)
        # A name comes again with the next start, perhaps since the pod was seen.
        seen = V1Preconditions(uid=pod["metadata"]["uid"])
        try:
            await asyncio.wait_for(
                self.api.delete_namespaced_pod(
                    name=place.name,
                    namespace=place.namespace,
                    body=V1DeleteOptions(grace_period_seconds=grace, preconditions=seen),
                    grace_period_seconds=grace,
                ),
                self.k8s_api_request_timeout,
            )
        except ApiException as error:
            if error.status != _NOT_FOUND:
                self.log.warning("%s is not deleted: %s", place.key, message_of(error))
                return False
        except _AWAY as error:
            self.log.warning("%s is not deleted: %s", place.key, message_of(error))
            return False
        return True
