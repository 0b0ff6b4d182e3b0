"""Leases as Workloads on a real Kueue: created, renumbered, kept, deleted, listed, watched.

Each call may be made again: what is done already is done. It decides nothing.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from ..errors import RefusedError, UnreachableError
from ..i18n import _
from ..lease import LeaseId
from . import names, objects
from .answers import ConflictError, MissingError
from .api import LONG_S, SHORT_S, Api
from .engine import Gone, Seen, Wanted
from .objects import Body
from .paging import pages
from .reading import seen
from .watching import Nap, Watch

_BASE = f"/apis/{objects.GROUP}/{objects.VERSION}"
_TRIES = 3


class Workloads:
    """Workloads of one cluster, or of one namespace of it.

    Parameters
    ----------
    api
        The connection; `close` closes it.
    clock
        Gives the present instant, for the conditions that are written.
    namespace
        The only namespace that is listed and watched; None means all, jobs of others included.
    """

    def __init__(
        self, api: Api, clock: Callable[[], datetime], *, namespace: str | None = None
    ) -> None:
        self._api = api
        self._clock = clock
        self._all = f"{_BASE}/{objects.PLURAL}" if namespace is None else _within(namespace)
        self._places: dict[LeaseId, str] = {}
        self.away = ""
        """Why the watch cannot follow just now, in words; empty while it does."""

    @classmethod
    def at(
        cls,
        kubeconfig: Path | None,
        clock: Callable[[], datetime],
        *,
        namespace: str | None = None,
    ) -> "Workloads":
        """Open by a kubeconfig, or with the credentials of the pod we run in."""
        return cls(Api(kubeconfig), clock, namespace=namespace)

    async def close(self) -> None:
        """Close the connections."""
        await self._api.close()

    async def create(self, wanted: Wanted) -> Seen:
        """Submit a lease; one that is there already with the same wishes is taken for ours.

        Raises
        ------
        UnreachableError
            When the API server or Kueue does not answer, or the former one of that name is still
            ending. Whether it was created is unknown then: ask again.
        RefusedError
            When it may not be, or another Workload has the name.
        """
        path = _within(wanted.namespace)
        try:
            made = await self._api.create(path, objects.workload(wanted), within_s=SHORT_S)
        except ConflictError:
            made = await self._api.get(_one(wanted.namespace, wanted.lease_id), within_s=SHORT_S)
            _check_same(made, wanted)
        self._places[wanted.lease_id] = wanted.namespace
        return seen(made)

    async def renumber(self, lease_id: LeaseId, number: int) -> bool:
        """Change its priority number; False where it is gone."""
        return await self._merge(lease_id, objects.priority(number))

    async def set_active(self, lease_id: LeaseId, on: bool) -> bool:  # noqa: FBT001 - the state that it names
        """Take a waiting one out of the queue or back in; False where it is gone.

        Raises
        ------
        RefusedError
            When it holds quota and is to be taken out: that would free it under a live server.
        """
        if not on:
            return await self._take_out(lease_id)
        return await self._merge(lease_id, objects.active(on=True))

    async def _take_out(self, lease_id: LeaseId) -> bool:
        for _again in range(_TRIES):
            now = await self.find(lease_id)
            if now is None:
                return False
            if now.holds:
                break
            # The version is a precondition: it may be admitted between the look and the patch.
            body = {"metadata": {"resourceVersion": now.version}, **objects.active(on=False)}
            with suppress(ConflictError):
                return await self._merge(lease_id, body)
        raise RefusedError(
            "kube-holds",
            _("{lease} holds quota, or is just given some, and is not taken out").format(
                lease=lease_id
            ),
        )

    async def pods_ready(self, lease_id: LeaseId) -> bool:
        """Say that its server is up; False where it is gone."""
        where = await self._place(lease_id)
        if where is None:
            return False
        body = objects.pods_ready(lease_id, where, self._clock())
        return await self._condition(lease_id, where, body, "ready")

    async def keep(self, lease_id: LeaseId) -> bool:
        """Take back its eviction after a withdrawn notice; False where it is gone.

        Renumber it first: an eviction that is taken back from a low number comes again.
        """
        where = await self._place(lease_id)
        if where is None:
            return False
        body = objects.kept(lease_id, where, self._clock())
        return await self._condition(lease_id, where, body, "kept")

    async def _condition(self, lease_id: LeaseId, where: str, body: Body, what: str) -> bool:
        # A manager for each: what a manager leaves out of its next apply, the server removes.
        manager = f"{names.FIELD_MANAGER}-{what}"
        try:
            await self._api.apply(f"{_one(where, lease_id)}/status", body, manager=manager)
        except MissingError:
            return self._is_gone(lease_id)
        return True

    async def delete(self, lease_id: LeaseId) -> None:
        """Delete it, once its server is proved gone; one that is gone already is fine."""
        where = await self._place(lease_id)
        if where is None:
            return
        with suppress(MissingError):
            await self._api.delete(_one(where, lease_id))
        self._is_gone(lease_id)

    async def find(self, lease_id: LeaseId) -> Seen | None:
        """Look at one; None where there is none."""
        where = await self._place(lease_id)
        if where is None:
            return None
        try:
            return seen(await self._api.get(_one(where, lease_id), within_s=SHORT_S))
        except MissingError:
            self._is_gone(lease_id)
            return None

    async def all(self) -> tuple[Seen, ...]:
        """List every Workload, foreign ones included, as of one instant."""
        return (await self._listed())[0]

    def watch(self, nap: Nap | None = None) -> AsyncGenerator[Seen | Gone]:
        """Follow every change, from a list of all on; it never ends and never raises for a while.

        While it cannot follow, `away` says why and it tries again, ever less often. After every
        gap it lists anew, and gives as gone what it had given and is no more.
        """
        return self._noted(Watch(self._api, self._all, self._listed, self._tell, nap).events())

    async def _noted(self, events: AsyncGenerator[Seen | Gone]) -> AsyncGenerator[Seen | Gone]:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Seen):
                    self._note(event)
                elif event.lease_id is not None:
                    self._places.pop(event.lease_id, None)
                yield event

    def _tell(self, words: str) -> None:
        self.away = words

    async def _listed(self) -> tuple[tuple[Seen, ...], str]:
        """List all pages and give the version from which a watch may follow."""
        found: list[Seen] = []
        version = ""
        async for page in pages(lambda query: self._api.get(self._all, query, within_s=LONG_S)):
            found += [seen(one) for one in page.get("items") or ()]
            version = str((page.get("metadata") or {}).get("resourceVersion", ""))
        for one in found:
            self._note(one)
        return tuple(found), version

    def _note(self, one: Seen) -> None:
        if one.lease_id is not None:
            self._places[one.lease_id] = one.namespace

    def _is_gone(self, lease_id: LeaseId) -> bool:
        self._places.pop(lease_id, None)
        return False

    async def _merge(self, lease_id: LeaseId, body: Body) -> bool:
        where = await self._place(lease_id)
        if where is None:
            return False
        try:
            await self._api.merge(_one(where, lease_id), body)
        except MissingError:
            return self._is_gone(lease_id)
        return True

    async def _place(self, lease_id: LeaseId) -> str | None:
        """Tell the namespace of a lease; after a restart it is looked up by the label."""
        if lease_id not in self._places:
            query = {"labelSelector": f"{names.LABEL_LEASE}={lease_id}"}
            page = await self._api.get(self._all, query, within_s=SHORT_S)
            for one in page.get("items") or ():
                self._note(seen(one))
        return self._places.get(lease_id)


def _within(namespace: str) -> str:
    return f"{_BASE}/namespaces/{quote(namespace, safe='')}/{objects.PLURAL}"


def _one(namespace: str, name: str) -> str:
    return f"{_within(namespace)}/{quote(name, safe='')}"


def _check_same(made: Body, wanted: Wanted) -> None:
    meta = made.get("metadata") or {}
    if meta.get("deletionTimestamp"):
        raise UnreachableError(
            _("a former Workload of {lease} is still ending").format(lease=wanted.lease_id)
        )
    if not objects.same(made, wanted):
        raise RefusedError(
            "kube-name-taken",
            _(
                "{namespace} holds another Workload called {lease}; "
                "let an administrator look who made it and delete it"
            ).format(namespace=wanted.namespace, lease=wanted.lease_id),
        )
