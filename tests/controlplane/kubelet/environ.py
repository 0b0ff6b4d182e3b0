"""The environment and command of a container, from what its pod says."""

import base64
import re
from collections.abc import Mapping, Sequence

from .client import Client, Manifest

_KEYED = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_NAMED = re.compile(r"\$\((\w+)\)")


def expand(word: str, known: Mapping[str, str]) -> str:
    """Put variables into `$(NAME)`; an unknown one stays as it is."""
    return _NAMED.sub(lambda found: known.get(found[1], found[0]), word)


def command(container: Manifest, usual: Sequence[str], known: Mapping[str, str]) -> list[str]:
    """Give the command of a container, or else its image's usual one, with its arguments."""
    words = [*(container.get("command") or usual), *(container.get("args") or [])]
    return [expand(word, known) for word in words]


async def variables(
    client: Client, pod: Manifest, container: Manifest, places: Mapping[str, str]
) -> dict[str, str]:
    """Read a container's variables; `places` holds the fields that only the node knows."""
    found: dict[str, str] = {}
    for one in container.get("env") or []:
        source = one.get("valueFrom") or {}
        if reference := source.get("fieldRef"):
            found[one["name"]] = _field(pod, reference["fieldPath"], places)
        elif reference := source.get("secretKeyRef"):
            data = await _data(client, pod, "secrets", reference["name"])
            found[one["name"]] = base64.b64decode(data[reference["key"]]).decode()
        elif reference := source.get("configMapKeyRef"):
            data = await _data(client, pod, "configmaps", reference["name"])
            found[one["name"]] = data[reference["key"]]
        else:
            found[one["name"]] = expand(one.get("value") or "", found)
    return found


def _field(pod: Manifest, path: str, places: Mapping[str, str]) -> str:
    meta = pod["metadata"]
    if keyed := _KEYED.fullmatch(path):
        value: str = (meta.get(keyed[1]) or {}).get(keyed[2], "")
        return value
    if path in places:
        return places[path]
    return str(meta[path.removeprefix("metadata.")])


async def _data(client: Client, pod: Manifest, plural: str, name: str) -> Mapping[str, str]:
    namespace = pod["metadata"]["namespace"]
    read = await client.call("GET", f"/api/v1/namespaces/{namespace}/{plural}/{name}")
    data: Mapping[str, str] = read.get("data") or {}
    return data
