"""A Kubernetes API that behaves, in a thread of the test: pods, events, claims, watches.

What a kubelet and a scheduler would do is a script that a test chooses; nothing happens by itself.
"""

import asyncio
import itertools
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

Json = dict[str, Any]
Script = Callable[["FakeKube", Json], Awaitable[None]]

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: fake
contexts: [{{name: fake, context: {{cluster: fake, user: hub}}}}]
clusters: [{{name: fake, cluster: {{server: "{url}"}}}}]
users: [{{name: hub, user: {{token: "0123456789"}}}}]
"""


def at(seconds: float = 0) -> str:
    """Write an instant as Kubernetes does, some seconds from now."""
    return f"{datetime.now(UTC) + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


async def stays_pending(kube: "FakeKube", pod: Json) -> None:
    """Leave a pod as it is: nobody schedules it."""


async def comes_up(kube: "FakeKube", pod: Json) -> None:
    """Schedule a pod, pull its image, run it."""
    kube.scheduled(pod)
    kube.event(pod, "Pulling", "Pulling image")
    kube.event(pod, "Pulled", "Successfully pulled image")
    kube.runs(pod)


@dataclass
class FakeKube:
    """State of the fake; tests call its methods to be scheduler, kubelet and other people."""

    url: str = ""
    script: Script = comes_up
    """What happens to a pod that was made."""
    refuse: tuple[int, str] | None = None
    """Status and message with which pods are refused."""
    refuse_claims: tuple[int, str] | None = None
    away: bool = False
    """Every request is answered 503."""
    deaf: bool = False
    """Watches say nothing more, though they stay open."""
    keeps: bool = False
    """Pods that were asked to end stay, as on a machine that does not answer."""
    namespaces: set[str] = field(default_factory=lambda: {"hub", "gpu-atlas"})
    made: list[Json] = field(default_factory=list)
    """Every pod that was made, as it was asked for."""
    made_one: threading.Event = field(default_factory=threading.Event)
    """Set once a pod was made."""
    claims: dict[tuple[str, str], Json] = field(default_factory=dict)
    deletes: list[Json] = field(default_factory=list)
    """Every deletion that was asked for: name and seconds of grace."""
    kept: dict[str, dict[tuple[str, str], Json]] = field(
        default_factory=lambda: {"pods": {}, "events": {}}
    )
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _watchers: list[tuple[str, str, asyncio.Queue[Json]]] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    # -- what a test does -----------------------------------------------------------------------

    def pod(self, name: str = "", namespace: str = "gpu-atlas") -> Json:
        """Give one pod as it stands; without a name the only one."""
        found = [
            one
            for (where, called), one in self.kept["pods"].items()
            if where == namespace and (not name or called == name)
        ]
        assert len(found) == 1, f"{len(found)} pods in {namespace}"
        return found[0]

    def pods(self) -> list[str]:
        """Names of all pods, with their namespaces."""
        return [f"{namespace}/{name}" for namespace, name in self.kept["pods"]]

    def scheduled(self, pod: Json, node: str = "n1") -> None:
        """Be the scheduler: give a pod its machine."""
        pod["spec"]["nodeName"] = node
        self._condition(pod, "PodScheduled", "True")
        waiting = {"waiting": {"reason": "ContainerCreating"}}
        self._container(pod, state=waiting, ready=False)
        self.event(pod, "Scheduled", f"Successfully assigned to {node}")

    def unschedulable(self, pod: Json, message: str, reason: str = "Unschedulable") -> None:
        """Be the scheduler: find no machine."""
        self._condition(pod, "PodScheduled", "False", reason=reason, message=message)
        self.event(pod, "FailedScheduling", message, "Warning")

    def runs(self, pod: Json, ip: str = "127.0.0.1") -> None:
        """Be the kubelet: the program runs."""
        pod["status"] |= {"phase": "Running", "podIP": ip}
        self._container(pod, state={"running": {"startedAt": at()}}, ready=True, started=True)
        self.event(pod, "Started", "Started container notebook")

    def waits(self, pod: Json, reason: str, message: str = "", **more: Any) -> None:
        """Be the kubelet: the container waits for a reason."""
        state = {"waiting": {"reason": reason, "message": message}}
        self._container(pod, state=state, ready=False, **more)

    def dies(self, pod: Json, code: int, reason: str = "Error", restarts: int = 0) -> None:
        """Be the kubelet: the program has ended, and is started again after a while."""
        end = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": at()}}
        pod["status"]["phase"] = "Running"
        self._container(
            pod,
            state={"waiting": {"reason": "CrashLoopBackOff"}} if restarts else end,
            lastState=end,
            ready=False,
            restartCount=restarts,
        )

    def ends(self, pod: Json, phase: str, *, code: int | None = None, **status: Any) -> None:
        """Be the kubelet: the pod is over, with or without a word of its containers."""
        if code is None:
            pod["status"].pop("containerStatuses", None)
        else:
            end = {"terminated": {"exitCode": code, "reason": status.pop("why", "Error")}}
            self._container(pod, state=end, ready=False)
        pod["status"] |= {"phase": phase, **status}
        self.changed("pods", pod)

    def disrupted(self, pod: Json, reason: str, message: str = "") -> None:
        """Be who wants a pod gone, for a reason."""
        self._condition(pod, "DisruptionTarget", "True", reason=reason, message=message)

    def loses_machine(self, pod: Json) -> None:
        """Be the node controller: its machine does not answer, and after a while it is to go."""
        self._condition(pod, "Ready", "False", reason="NodeStatusUnknown")
        self.disrupted(pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute")
        pod["metadata"] |= {"deletionTimestamp": at(), "deletionGracePeriodSeconds": 30}
        self.changed("pods", pod)

    def event(self, pod: Json, reason: str, message: str, kind: str = "Normal") -> None:
        """Write an event of a pod."""
        meta = pod["metadata"]
        number = next(self._numbers)
        event = {
            "metadata": {
                "name": f"{meta['name']}.{number}",
                "namespace": meta["namespace"],
                "uid": f"event-{number}",
            },
            "involvedObject": {"kind": "Pod", "name": meta["name"], "uid": meta["uid"]},
            "type": kind,
            "reason": reason,
            "message": message,
            "lastTimestamp": at(),
            "eventTime": None,
        }
        self.changed("events", event, "ADDED")

    def removes(self, pod: Json) -> None:
        """Take a pod out of the API."""
        meta = pod["metadata"]
        if self.kept["pods"].pop((meta["namespace"], meta["name"]), None) is not None:
            self._tell("pods", "DELETED", pod)

    def do(self, act: Callable[[], Any]) -> Any:
        """Run something in the fake's own thread, and wait for it."""
        assert self._loop is not None

        async def run() -> Any:
            return act()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    # -- how it keeps and tells -------------------------------------------------------------------

    def changed(self, kind: str, item: Json, how: str = "MODIFIED") -> None:
        """Keep an object and tell everybody who watches."""
        meta = item["metadata"]
        meta["resourceVersion"] = str(next(self._numbers))
        self.kept[kind][meta["namespace"], meta["name"]] = item
        self._tell(kind, how, item)

    def _tell(self, kind: str, how: str, item: Json) -> None:
        if self.deaf:
            return
        for watched, namespace, queue in self._watchers:
            if watched == kind and namespace in ("", item["metadata"]["namespace"]):
                queue.put_nowait({"type": how, "object": deepcopy(item)})

    def _condition(self, pod: Json, kind: str, status: str, **more: str) -> None:
        kept = [one for one in pod["status"].get("conditions", []) if one["type"] != kind]
        pod["status"]["conditions"] = [*kept, {"type": kind, "status": status, **more}]
        self.changed("pods", pod)

    def _container(self, pod: Json, **told: Any) -> None:
        image = pod["spec"]["containers"][0]["image"]
        before = (pod["status"].get("containerStatuses") or [{}])[0]
        first = {
            "name": "notebook",
            "image": image,
            "imageID": "",
            "restartCount": 0,
            "started": False,
        }
        pod["status"]["containerStatuses"] = [{**first, **before, **told}]
        self.changed("pods", pod)

    # -- the API --------------------------------------------------------------------------------

    def application(self) -> web.Application:
        """Routes of the API, as far as they are used."""
        app = web.Application(middlewares=[self._gate])
        base = "/api/v1/namespaces/{namespace}"
        app.router.add_get(base + "/{kind:pods|events}", self._list)
        app.router.add_get("/api/v1/{kind:pods|events}", self._list)
        app.router.add_post(base + "/pods", self._create)
        app.router.add_get(base + "/pods/{name}", self._read)
        app.router.add_delete(base + "/pods/{name}", self._delete)
        app.router.add_post(base + "/persistentvolumeclaims", self._claim)
        app.router.add_get(base + "/persistentvolumeclaims/{name}", self._read_claim)
        return app

    @web.middleware
    async def _gate(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        if self.away:
            return web.Response(status=503, text="no backend")
        return await handler(request)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        kind, namespace = request.match_info["kind"], request.match_info.get("namespace", "")
        if request.query.get("watch"):
            return await self._watch(request, kind, namespace)
        wanted = request.query.get("labelSelector", "").partition("=")
        items = [
            one
            for (where, _), one in self.kept[kind].items()
            if namespace in ("", where) and _chosen(one, wanted[0], wanted[2])
        ]
        version = str(next(self._numbers))
        return web.json_response({"metadata": {"resourceVersion": version}, "items": items})

    async def _watch(self, request: web.Request, kind: str, namespace: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        watcher = (kind, namespace, asyncio.Queue[Json]())
        # What changed between the list and this watch would be lost: tell it again.
        for one in list(self.kept[kind].values()):
            watcher[2].put_nowait({"type": "MODIFIED", "object": deepcopy(one)})
        self._watchers.append(watcher)
        try:
            async for told in self._news(
                watcher[2], float(request.query.get("timeoutSeconds", 10))
            ):
                await response.write(json.dumps(told).encode() + b"\n")
        finally:
            self._watchers.remove(watcher)
        return response

    async def _news(self, queue: asyncio.Queue[Json], within_s: float) -> AsyncIterator[Json]:
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while (left := until - loop.time()) > 0:
            with suppress(TimeoutError):
                yield await asyncio.wait_for(queue.get(), left)

    async def _create(self, request: web.Request) -> web.Response:
        namespace = request.match_info["namespace"]
        body = await request.json()
        if namespace not in self.namespaces:
            return _failure(404, f'namespaces "{namespace}" not found')
        if self.refuse is not None:
            return _failure(*self.refuse)
        name = body["metadata"]["name"]
        if (namespace, name) in self.kept["pods"]:
            return _failure(409, f'pods "{name}" already exists')
        self.made.append(deepcopy(body))
        body["metadata"] |= {"namespace": namespace, "uid": f"uid-{next(self._numbers)}"}
        body["metadata"]["creationTimestamp"] = at()
        body["status"] = {"phase": "Pending"}
        self.changed("pods", body, "ADDED")
        self.made_one.set()
        self._soon(self.script(self, body))
        return web.json_response(body, status=201)

    async def _read(self, request: web.Request) -> web.Response:
        key = request.match_info["namespace"], request.match_info["name"]
        pod = self.kept["pods"].get(key)
        return _failure(404, f"pods {key[1]} not found") if pod is None else web.json_response(pod)

    async def _delete(self, request: web.Request) -> web.Response:
        key = request.match_info["namespace"], request.match_info["name"]
        grace = int(request.query.get("gracePeriodSeconds", 30))
        self.deletes.append({"name": key[1], "grace_s": grace})
        pod = self.kept["pods"].get(key)
        if pod is None:
            return _failure(404, f"pods {key[1]} not found")
        wanted = (await request.json()).get("preconditions", {}) if request.can_read_body else {}
        if wanted.get("uid", pod["metadata"]["uid"]) != pod["metadata"]["uid"]:
            return _failure(409, f"the UID in the precondition ({wanted['uid']}) is another's")
        over = pod["status"]["phase"] in ("Succeeded", "Failed") or "nodeName" not in pod["spec"]
        if over or not grace:
            self.removes(pod)
        elif "deletionTimestamp" not in pod["metadata"]:
            meta = {"deletionTimestamp": at(grace), "deletionGracePeriodSeconds": grace}
            pod["metadata"] |= meta
            self.changed("pods", pod)
            self._soon(self._ending(pod))
        return web.json_response(pod)

    async def _ending(self, pod: Json) -> None:
        """Be the kubelet: a program that was asked to end does so, on a machine that answers."""
        await asyncio.sleep(0.2)
        if not self.keeps:
            self.removes(pod)

    async def _claim(self, request: web.Request) -> web.Response:
        body = await request.json()
        key = request.match_info["namespace"], body["metadata"]["name"]
        if self.refuse_claims is not None:
            return _failure(*self.refuse_claims)
        if key in self.claims:
            return _failure(409, f"persistentvolumeclaims {key[1]} already exists")
        self.claims[key] = body
        return web.json_response(body, status=201)

    async def _read_claim(self, request: web.Request) -> web.Response:
        key = request.match_info["namespace"], request.match_info["name"]
        found = self.claims.get(key)
        return _failure(404, f"{key[1]} not found") if found is None else web.json_response(found)

    def _soon(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(_awaited(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- running --------------------------------------------------------------------------------

    @classmethod
    @contextmanager
    def running(cls, kubeconfig: Path) -> Iterator["FakeKube"]:
        """Run the API on a free port of the loopback, and write the file that leads to it."""
        fake, ready = cls(), threading.Event()
        thread = threading.Thread(target=fake._serve, args=(ready,), daemon=True)
        thread.start()
        assert ready.wait(10)
        kubeconfig.write_text(KUBECONFIG.format(url=fake.url))
        try:
            yield fake
        finally:
            assert fake._loop is not None
            fake._loop.call_soon_threadsafe(fake._loop.stop)
            thread.join(10)

    def _serve(self, ready: threading.Event) -> None:
        self._loop = loop = asyncio.new_event_loop()
        runner = web.AppRunner(self.application(), shutdown_timeout=0.1)

        async def begin() -> None:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.url = "http://{}:{}".format(*runner.addresses[0][:2])
            ready.set()

        loop.run_until_complete(begin())
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        with suppress(Exception):
            loop.run_until_complete(runner.cleanup())
        loop.close()


def _chosen(item: Json, key: str, value: str) -> bool:
    """Whether an object has a label, of the value where one is named."""
    labels = item["metadata"].get("labels") or {}
    # KubeSpawner's own selector holds for all that it makes; older pods of a story carry no label.
    return not key.startswith("gpu-commons") or (key in labels and value in ("", labels[key]))


def _failure(status: int, message: str) -> web.Response:
    body = {"kind": "Status", "status": "Failure", "message": message, "code": status}
    return web.json_response(body, status=status, headers={"Audit-Id": "secret-header"})


async def _awaited(work: Awaitable[None]) -> None:
    await work
