"""What a small API server says over HTTP of its one kind of object: lists, watches, patches.

Versions, bookmarks, 409, 410, 422 and a webhook that is away are as Kubernetes has them.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

Body = dict[str, Any]
_BASE = "/apis/kueue.x-k8s.io/v1beta2"
WEBHOOK_AWAY = (
    'Internal error occurred: failed calling webhook "mworkload.kb.io": failed to call webhook: '
    'Post "https://127.0.0.1:9443/mutate": dial tcp 127.0.0.1:9443: connect: connection refused'
)


@dataclass
class Faults:
    """What goes wrong now; each may be switched while clients are connected."""

    webhook_away: bool = False
    """Kueue is down: creating and patching fail, reading and deleting work."""
    status: int = 0
    """Answer everything with this status instead."""
    message: str = "something is wrong"
    slow_s: float = 0.0
    """Answer so much later."""
    loses_answer: bool = False
    """Do the next write, then break the connection instead of answering."""
    calls: list[str] = field(default_factory=list)
    """Method and path of each call."""


class Shelf:
    """All versions of all objects, as far as they are kept."""

    def __init__(self) -> None:
        self.version = 100
        self.oldest = 100
        self.log: list[tuple[int, str, Body]] = []
        self.generation = 0
        self._changed = asyncio.Event()

    def put(self, kind: str, body: Body) -> None:
        """Record one change."""
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.log.append((self.version, kind, deepcopy(body)))
        self._wake()

    def compact(self) -> None:
        """Forget what was: whoever is behind is told 410, and every watch ends with it."""
        self.version += 1
        self.oldest, self.log = self.version, []
        self.drop()

    def drop(self) -> None:
        """End every watch, as a server that restarts does."""
        self.generation += 1
        self._wake()

    def close(self) -> None:
        """End every watch for good."""
        self.drop()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def after(self, version: int, within_s: float) -> list[tuple[int, str, Body]]:
        """Wait for what comes after a version."""
        fresh = [one for one in self.log if one[0] > version]
        if not fresh:
            try:
                await asyncio.wait_for(self._changed.wait(), within_s)
            except TimeoutError:
                return []
            fresh = [one for one in self.log if one[0] > version]
        return fresh


class Cluster(Protocol):
    """What the routes need of whoever decides."""

    faults: Faults
    shelf: Shelf
    kept: Any

    def create(self, namespace: str, body: Body) -> Body: ...
    def change(self, body: Body, patch: Body) -> Body: ...
    def delete(self, body: Body) -> None: ...


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def routes(cluster: Cluster) -> Iterator[web.RouteDef]:
    """Give the routes of Workloads, in one namespace and in all."""
    pages = Pages(cluster)
    here = _BASE + "/namespaces/{namespace}/workloads"
    for method, path, page in (
        ("GET", _BASE + "/workloads", pages.listed),
        ("GET", here, pages.listed),
        ("POST", here, pages.create),
        ("GET", here + "/{name}", pages.show),
        ("PATCH", here + "/{name}", pages.patch),
        ("PATCH", here + "/{name}/status", pages.patch),
        ("DELETE", here + "/{name}", pages.delete),
    ):
        yield web.route(method, path, pages.guarded(page))


class Pages:
    """The answers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def guarded(self, page: Handler) -> Handler:
        """Put the faults of the moment before an answer."""

        async def answer(request: web.Request) -> web.StreamResponse:
            faults = self.cluster.faults
            faults.calls.append(f"{request.method} {request.path}")
            if faults.slow_s:
                await asyncio.sleep(faults.slow_s)
            if faults.status:
                return problem(faults.status, faults.message)
            if faults.webhook_away and request.method in ("POST", "PATCH"):
                return problem(500, WEBHOOK_AWAY, "InternalError")
            done = await page(request)
            if faults.loses_answer and request.method != "GET":
                faults.loses_answer = False
                assert request.transport is not None
                request.transport.abort()
            return done

        return answer

    def _found(self, request: web.Request) -> Body | None:
        where = (request.match_info["namespace"], request.match_info["name"])
        return next((body for body in self._bodies() if _key(body) == where), None)

    def _bodies(self) -> Iterator[Body]:
        return (one.body for one in self.cluster.kept.values())

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        namespace, name = request.match_info["namespace"], body["metadata"]["name"]
        if any(_key(one) == (namespace, name) for one in self._bodies()):
            return problem(409, f'workloads "{name}" already exists', "AlreadyExists", name)
        if not isinstance(body["spec"].get("priority", 0), int):
            return problem(422, f'Workload "{name}" is invalid: spec.priority', "Invalid", name)
        return web.json_response(self.cluster.create(namespace, body), status=201)

    async def show(self, request: web.Request) -> web.StreamResponse:
        body = self._found(request)
        return missing(request) if body is None else web.json_response(body)

    async def patch(self, request: web.Request) -> web.StreamResponse:
        body, patch = self._found(request), json.loads(await request.text())
        if body is None:
            return missing(request)
        version = patch.get("metadata", {}).get("resourceVersion")
        if version not in (None, body["metadata"]["resourceVersion"]):
            words = "the object has been modified; please apply your changes to the latest version"
            return problem(409, words, "Conflict", body["metadata"]["name"])
        return web.json_response(self.cluster.change(body, patch))

    async def delete(self, request: web.Request) -> web.StreamResponse:
        body = self._found(request)
        if body is None:
            return missing(request)
        self.cluster.delete(body)
        return web.json_response({"kind": "Status", "status": "Success"})

    async def listed(self, request: web.Request) -> web.StreamResponse:
        wants = _wants(request)
        if request.query.get("watch") == "true":
            return await self._watch(request, wants)
        limit, start = int(request.query.get("limit", 500)), int(request.query.get("continue", 0))
        items = sorted(filter(wants, self._bodies()), key=_key)
        meta = {"resourceVersion": str(self.cluster.shelf.version)}
        if len(items) > start + limit:
            meta["continue"] = str(start + limit)
        page = items[start : start + limit]
        return web.json_response({"kind": "WorkloadList", "metadata": meta, "items": page})

    async def _watch(
        self, request: web.Request, wants: Callable[[Body], bool]
    ) -> web.StreamResponse:
        shelf = self.cluster.shelf
        version, generation = int(request.query["resourceVersion"]), shelf.generation
        response = web.StreamResponse()
        await response.prepare(request)
        while generation == shelf.generation:
            if version < shelf.oldest:
                break
            events = await shelf.after(version, 0.2)
            for at, kind, body in events:
                version = at
                if wants(body):
                    await _send(response, kind, body)
            if not events:
                version = max(version, shelf.version) if shelf.log else version
                await _send(response, "BOOKMARK", {"metadata": {"resourceVersion": str(version)}})
        if version < shelf.oldest:
            status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
            await _send(response, "ERROR", status)
        return response


def _wants(request: web.Request) -> Callable[[Body], bool]:
    namespace = request.match_info.get("namespace")
    key, _, value = request.query.get("labelSelector", "").partition("=")

    def wants(body: Body) -> bool:
        meta = body["metadata"]
        if namespace not in (None, meta["namespace"]):
            return False
        return not key or meta.get("labels", {}).get(key) == value

    return wants


def _key(body: Body) -> tuple[str, str]:
    return body["metadata"]["namespace"], body["metadata"]["name"]


async def _send(response: web.StreamResponse, kind: str, body: Body) -> None:
    await response.write(json.dumps({"type": kind, "object": body}).encode() + b"\n")


def missing(request: web.Request) -> web.Response:
    """Say that there is no such Workload."""
    name = request.match_info["name"]
    return problem(404, f'workloads.kueue.x-k8s.io "{name}" not found', "NotFound", name)


def problem(status: int, message: str, reason: str = "", name: str = "") -> web.Response:
    """Answer with a Status of Kubernetes."""
    body: Body = {"kind": "Status", "status": "Failure", "code": status, "message": message}
    if reason:
        body["reason"] = reason
    if name:
        body["details"] = {"name": name, "kind": "workloads"}
    return web.json_response(body, status=status)
