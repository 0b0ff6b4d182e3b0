"""Which pins a project's environments had, from the policies that were in force."""

from collections.abc import Iterable

from pydantic import AwareDatetime

from ...errors import PolicyError
from ...lease import Value
from ...ledger.generations import Generation
from ...policy.load import loads
from ...policy.model import EnvironmentPin, Project

_REASONS = ("image ", "back to generation ")
"""How the words of our own commands begin."""


class Pinned(Value):
    """One pin of one environment: since when, by whom and why; `until` is None while it holds."""

    environment: str
    pin: EnvironmentPin
    since: AwareDatetime
    until: AwareDatetime | None = None
    by: str
    why: str
    generation: int


def pins_of(project: str, generations: Iterable[Generation]) -> tuple[Pinned, ...]:
    """List every pin that a project's environments had: those in force first, then newest first.

    A generation whose text this release cannot read any more is passed over.
    """
    now: dict[str, Pinned] = {}
    ended: list[Pinned] = []
    for one in sorted(generations, key=lambda generation: generation.number):
        found = _project(one, project)
        if found is None:
            continue
        gone = [name for name in now if name not in found.environments]
        ended += [now.pop(name).model_copy(update={"until": one.at}) for name in gone]
        for name, pin in found.environments.items():
            before = now.get(name)
            if before is not None and before.pin.digest == pin.digest:
                continue
            if before is not None:
                ended.append(before.model_copy(update={"until": one.at}))
            now[name] = Pinned(
                environment=name,
                pin=pin,
                since=one.at,
                by=one.actor.name,
                why=_why(one),
                generation=one.number,
            )
    return (*now.values(), *sorted(ended, key=lambda pinned: pinned.generation, reverse=True))


def _project(one: Generation, name: str) -> Project | None:
    try:
        return loads(one.text).policy.projects.get(name)
    except PolicyError:
        return None


def _why(one: Generation) -> str:
    """Take the reason that was given: the first line, where it is one and no list of changes."""
    first = one.summary.partition("\n")[0]
    return first if first.startswith(_REASONS) else ""
