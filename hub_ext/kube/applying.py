"""What is rendered against what a cluster has: told by a dry run on its server, or made so.

Only what carries our mark is ever taken away, and of what others wrote only the fields that we
render are changed. Nothing here decides what an object says.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from difflib import unified_diff
from itertools import groupby
from typing import TypeVar

from ..errors import GpuCommonsError, RefusedError
from ..i18n import _
from .answers import MissingError, NotServedError
from .difference import Cluster, Difference, Spot
from .leaving import leaving, still_fenced
from .names import FIELD_MANAGER
from .paging import listed
from .render.kinds import KINDS, Manifest, kind_of, place_of
from .render.marks import ANNOTATION_CONTENT, LABEL_RENDERED, RENDERED
from .render.text import yaml_text

__all__ = ["Cluster", "Difference", "Spot", "apply", "differences"]

_T = TypeVar("_T")
_R = TypeVar("_R")

_AT_ONCE = 8
"""Requests in flight: an API server in production has others to serve."""

_OURS = f"{LABEL_RENDERED}={RENDERED}"
_SERVERS_OWN = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
"""Fields of metadata that the server writes; they differ without a difference."""


async def differences(cluster: Cluster, manifests: Sequence[Manifest]) -> tuple[Difference, ...]:
    """Find everything that applying would change, in the order of making.

    Raises
    ------
    GpuCommonsError
        When the cluster cannot be asked, refuses, or lacks a kind that is rendered.
    """
    ours = await _ours(cluster, {str(one["kind"]) for one in manifests})
    coming = {one["metadata"]["name"] for one in manifests if one["kind"] == "Namespace"} - {
        name for kind, _namespace, name in ours if kind == "Namespace"
    }

    rendered = {place_of(one) for one in manifests}
    gone = {spot: one for spot, one in ours.items() if spot not in rendered}
    left = await leaving(cluster, gone, rendered)

    async def compare(one: Manifest) -> Difference | None:
        spot = place_of(one)
        found = ours.get(spot) or await _found(cluster, one)
        if found is None and spot[1] in coming and not await _there(cluster, spot[1]):
            return Difference("create", spot)
        made = still_fenced(one, found, left)
        wanted = await _applied(cluster, made, dry_run=True)
        return _difference(spot, found, wanted, made)

    changed = [one for one in await _all(manifests, compare) if one is not None]
    return (*changed, *left)


async def apply(
    cluster: Cluster, manifests: Sequence[Manifest], found: Iterable[Difference]
) -> None:
    """Make everything so: what others need first, then take away what is rendered no more.

    Raises
    ------
    GpuCommonsError
        When the cluster refuses; what came before it is done, and applying again goes on.
    """
    by_spot = {place_of(one): one for one in manifests}
    made = [one for one in found if one.spot in by_spot]

    async def make(one: Difference) -> None:
        await _applied(cluster, one.made or by_spot[one.spot])

    for _kind, group in groupby(made, key=lambda one: one.spot[0]):
        await _all(list(group), make)
    for one in found:
        if one.act in ("release", "drain"):
            await _said(one.spot, cluster.merge(_path(one.spot), dict(one.patch)))
        elif one.act == "remove":
            try:
                await _said(one.spot, cluster.delete(_path(one.spot)))
            except MissingError:
                continue


def _difference(
    spot: Spot, found: Manifest | None, wanted: Manifest, made: Manifest
) -> Difference | None:
    if found is None:
        return Difference("create", spot)
    before, after = _plain(found), _plain(wanted)
    if before == after:
        return None
    same = _content(found) == _content(wanted)
    lines = unified_diff(
        yaml_text(before).splitlines(), yaml_text(after).splitlines(), lineterm="", n=2
    )
    # The first two lines name files, and these are none.
    act = "mend" if same else "change"
    return Difference(act, spot, tuple(lines)[2:], by=_last(found), made=made)


def _last(found: Manifest) -> str:
    """Tell who wrote an object last beside us; who only writes how it fares does not count."""
    others = [
        (str(one.get("time", "")), str(one["manager"]))
        for one in found["metadata"].get("managedFields") or ()
        if one.get("manager") not in (None, FIELD_MANAGER) and not one.get("subresource")
    ]
    return max(others)[1] if others else ""


def _plain(one: Manifest) -> Manifest:
    """Take off what is the server's own: its bookkeeping, and how the object fares."""
    about = {key: value for key, value in one["metadata"].items() if key not in _SERVERS_OWN}
    rest = {key: value for key, value in one.items() if key not in ("status", "metadata")}
    return dict(sorted({**rest, "metadata": about}.items()))


def _content(one: Manifest) -> str | None:
    told = (one["metadata"].get("annotations") or {}).get(ANNOTATION_CONTENT)
    return None if told is None else str(told)


def _path(spot: Spot) -> str:
    kind, namespace, name = spot
    return KINDS[kind].path(namespace, name)


async def _ours(cluster: Cluster, needed: set[str]) -> dict[Spot, Manifest]:
    """Find all that carries our mark, of every kind that is ever rendered."""

    async def own_of(kind: str) -> list[tuple[Spot, Manifest]]:
        try:
            found = await listed(cluster, KINDS[kind].path(), _OURS)
        except NotServedError:
            if kind in needed:
                raise GpuCommonsError(_lacking(kind)) from None
            return []
        # In a list the server leaves out what is the same for all.
        own = {"apiVersion": KINDS[kind].version, "kind": kind}
        return [(place_of({**own, **one}), {**own, **one}) for one in found]

    return dict(one for group in await _all(list(KINDS), own_of) for one in group)


def _lacking(kind: str) -> str:
    version = KINDS[kind].version
    if "kueue" in version:
        return _(
            "this cluster knows no {kind} of {version}: install Kueue 0.17 or newer first"
        ).format(kind=kind, version=version)
    return _(
        "this cluster knows no {kind} of {version}; install what brings it, or do not ask for it"
    ).format(kind=kind, version=version)


async def _found(cluster: Cluster, one: Manifest) -> Manifest | None:
    spot = place_of(one)
    try:
        return await _said(spot, cluster.get(kind_of(one).path(spot[1], spot[2])))
    except MissingError:
        return None


async def _applied(cluster: Cluster, one: Manifest, *, dry_run: bool = False) -> Manifest:
    spot = place_of(one)
    try:
        return await _said(spot, cluster.apply(_path(spot), one, dry_run=dry_run))
    except MissingError as missing:
        raise GpuCommonsError(
            _("{kind} {name}: its namespace {namespace} is not there; make it first").format(
                kind=spot[0], name=spot[2], namespace=spot[1]
            )
        ) from missing


async def _there(cluster: Cluster, namespace: str) -> bool:
    try:
        await cluster.get(KINDS["Namespace"].path(None, namespace))
    except MissingError:
        return False
    return True


async def _said(spot: Spot, call: Awaitable[_T]) -> _T:
    """Wait for an answer; a refusal is told with the object that it is about.

    Raises
    ------
    GpuCommonsError
        When it was refused.
    """
    try:
        return await call
    except MissingError:
        raise
    except RefusedError as refused:
        kind, namespace, name = spot
        raise GpuCommonsError(
            _("{kind} {where}: {words}").format(
                kind=kind, where=f"{namespace}/{name}" if namespace else name, words=refused.message
            )
        ) from refused


async def _all(values: Sequence[_T], act: Callable[[_T], Awaitable[_R]]) -> list[_R]:
    """Do something with each, a few at once; the first failure ends it."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(value: _T) -> _R:
        async with free:
            return await act(value)

    tasks = [asyncio.ensure_future(one(value)) for value in values]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
