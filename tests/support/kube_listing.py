"""Lists at the end of a run what came out of each scenario of the contract on a real Kueue."""

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

SCENARIOS = (*(f"K{n}" for n in range(1, 16)), "W")
_WHERE = "tests/controlplane/test_contract"
_LINE = re.compile(r"^(K\d+|W): (ok: .+)$", re.MULTILINE)
_TOLD = re.compile(r"::test_(k\d+|w)_")


class Report(Protocol):
    """What is needed of a report of pytest."""

    @property
    def nodeid(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def capstdout(self) -> str: ...


def listing(reports: Iterable[Report]) -> Iterator[str]:
    """Give a line for each scenario that was told, in their order; one that was not is named."""
    found: dict[str, str] = {}
    for one in reports:
        told = _TOLD.search(one.nodeid)
        if told is None or not one.nodeid.startswith(_WHERE):
            continue
        name, line = told[1].upper(), _LINE.search(one.capstdout)
        if one.outcome != "passed":
            found[name] = one.outcome
        elif line is not None:
            found.setdefault(name, line[2])
    yield from (f"{name:<4}{found[name]}" for name in SCENARIOS if name in found)
    left_out = [name for name in SCENARIOS if name not in found]
    if found and left_out:
        yield f"not run: {', '.join(left_out)}"
