"""An API server in memory that knows server-side apply, for one field manager and plain fields."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from hub_ext.errors import RefusedError
from hub_ext.kube.answers import MissingError, NotServedError
from hub_ext.kube.render.kinds import KINDS, Manifest, kind_of, place_of

Leaf = tuple[str, ...]


class FakeCluster:
    """Objects by address and labels of nodes by name; `pods` are namespaces with servers.

    `unserved` are kinds that it lacks, `refusing` names of objects that it refuses.
    """

    def __init__(self, *, unserved: tuple[str, ...] = (), refusing: tuple[str, ...] = ()) -> None:
        hub: Manifest = {"kind": "Namespace", "metadata": {"name": "jupyterhub"}}
        self.objects: dict[str, Manifest] = {path_of(hub): hub}
        self.writes: list[str] = []
        self.pods: list[str] = []
        self.nodes: dict[str, dict[str, str]] = {}
        self._applied: dict[str, set[Leaf]] = {}
        self._unserved = {KINDS[kind].path() for kind in unserved}
        self._refusing = refusing

    async def get(self, path: str, query: Mapping[str, str | int | bool] | None = None) -> Manifest:
        if path == "/api/v1/nodes":
            nodes = self.nodes.items()
            return {"items": [{"metadata": {"name": n, "labels": own}} for n, own in nodes]}
        if path.endswith("/pods"):
            return {"items": [one for one in self.pods if path == f"/api/v1/namespaces/{one}/pods"]}
        if path in self._unserved:
            raise NotServedError("404")
        if any(path == kind.path() for kind in KINDS.values()):
            return self._listed(path, str((query or {})["labelSelector"]))
        if path not in self.objects:
            raise MissingError(f"{path} not found")
        return deepcopy(self.objects[path])

    async def apply(self, path: str, body: Manifest, *, dry_run: bool = False) -> Manifest:
        kind, namespace, name = place_of(body)
        if name in self._refusing:
            raise RefusedError("kube-refused", f"{name} is not wanted here")
        if namespace and KINDS["Namespace"].path(None, namespace) not in self.objects:
            raise MissingError(f"namespaces {namespace} not found")
        made = deepcopy(self.objects.get(path, {"metadata": {}}))
        leaves = set(_leaves(body))
        for leaf in self._applied.get(path, set()) - leaves:
            _take(made, leaf)
        for leaf in leaves:
            _put(made, leaf, _look(body, leaf))
        made["metadata"].setdefault("uid", f"{kind}-{len(self.objects)}")
        if not dry_run:
            self.objects[path], self._applied[path] = deepcopy(made), leaves
            self.writes.append(f"apply {kind} {name}")
        return made

    async def merge(self, path: str, body: Manifest) -> Manifest:
        for leaf in _leaves(body):
            value = _look(body, leaf)
            if value is None:
                _take(self.objects[path], leaf)
            else:
                _put(self.objects[path], leaf, value)
        self.writes.append(f"merge {path.rpartition('/')[2]}")
        return self.objects[path]

    async def delete(self, path: str) -> Manifest:
        self.writes.append(f"delete {path.rpartition('/')[2]}")
        return self.objects.pop(path)

    async def close(self) -> None:
        """Nothing is open."""

    def put(self, manifest: Manifest) -> None:
        """Let somebody else make an object."""
        self.objects[path_of(manifest)] = deepcopy(manifest)

    def _listed(self, path: str, selector: str) -> Manifest:
        key, _equals, value = selector.partition("=")
        plural, version = path.rpartition("/")[2], path.rpartition("/")[0].split("/", 2)[2]
        found = [
            {field: deepcopy(part) for field, part in one.items() if field not in _SAID_ONCE}
            for one in self.objects.values()
            if (kind_of(one).version, kind_of(one).plural) == (version, plural)
            and (one["metadata"].get("labels") or {}).get(key) == value
        ]
        return {"items": found, "metadata": {}}


_SAID_ONCE = ("apiVersion", "kind")


def path_of(manifest: Manifest) -> str:
    """Give an object's address."""
    _kind, namespace, name = place_of(manifest)
    return kind_of(manifest).path(namespace, name)


def _leaves(value: Any, at: Leaf = ()) -> list[Leaf]:
    if isinstance(value, dict) and value:
        return [leaf for key, part in value.items() for leaf in _leaves(part, (*at, key))]
    return [at]


def _look(value: Any, leaf: Leaf) -> Any:
    for key in leaf:
        value = value[key]
    return value


def _put(value: dict[str, Any], leaf: Leaf, part: Any) -> None:
    for key in leaf[:-1]:
        value = value.setdefault(key, {})
    value[leaf[-1]] = part


def _take(value: dict[str, Any], leaf: Leaf) -> None:
    for key in leaf[:-1]:
        value = value.get(key, {})
    value.pop(leaf[-1], None)
