"""An object that is not as it is rendered, and what is needed of an API server to make it so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..i18n import _
from .render.kinds import Manifest

__all__ = ["Cluster", "Difference", "Spot"]

Spot = tuple[str, str, str]
"""Kind, namespace and name of an object."""


class Cluster(Protocol):
    """What is needed of an API server; `api.Api` is one."""

    async def get(self, path: str, query: Mapping[str, str | int | bool] | None = None) -> Manifest:
        """Read an object or a list."""

    async def apply(self, path: str, body: Manifest, *, dry_run: bool = False) -> Manifest:
        """Apply an object on the server, or only say what would become of it."""

    async def merge(self, path: str, body: Manifest) -> Manifest:
        """Change the fields that the body has."""

    async def delete(self, path: str) -> Manifest:
        """Delete an object."""


@dataclass(frozen=True)
class Difference:
    """One object that is not as it is rendered.

    Parameters
    ----------
    act
        What makes it so: `create`, `change`, `mend` (the policy says what it said before, the
        cluster was changed), `remove`, `release` (a namespace: it holds people's files, so it
        loses our mark and stays), `drain` (a queue that still counts leases). `wait` is no
        difference: what servers still need is taken away when they have ended.
    lines
        What would change, as a unified difference of YAML.
    patch
        Of what is released or drained: the fields to change.
    by
        Who wrote the object last beside us, as the API server names field managers.
    made
        The object to apply, where it is not just what is rendered: see `leaving.still_fenced`.
    """

    act: str
    spot: Spot
    lines: tuple[str, ...] = ()
    patch: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""
    made: Manifest | None = None

    def text(self) -> str:
        """Write it for people."""
        kind, namespace, name = self.spot
        where = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
        words = {
            "create": _("is not there"),
            "change": _("the policy says otherwise by now"),
            "mend": _("was changed in the cluster, last by {who}").format(who=self.by)
            if self.by
            else _("was changed in the cluster"),
            "remove": _("is rendered no more"),
            "drain": _("is rendered no more; it lets nobody in and counts who is still there"),
            "wait": _("is rendered no more, and servers still run there; apply again afterwards"),
            "release": _("is rendered no more; it stays, because it holds people's files"),
        }[self.act]
        return "\n".join((f"{self.act} {where}: {words}", *(f"  {one}" for one in self.lines)))
