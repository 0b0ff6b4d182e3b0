"""Parts of the files read into the engine's values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from hub_ext.admission.engine import Cohort, Fungibility, Pair, Preemption, Quota, Rules
from hub_ext.admission.engine.values import Borrow, Release


@dataclass(frozen=True)
class Outcome:
    """One scenario: its id, and where it went another way than Kueue."""

    id: str
    difference: str | None = None

    @property
    def line(self) -> str:
        """What is printed of it."""
        return f"ok {self.id}" if self.difference is None else f"DIFF {self.id} {self.difference}"


def release(content: Mapping[str, Any]) -> Rules:
    """Rules of the release that a file names."""
    named = content.get("release") or content.get("settings", {}).get("kueue")
    found = re.search(r"(\d+)\.(\d+)", str(named or content.get("source", "")))
    minor = (int(found[1]), int(found[2])) if found else (0, 19)
    known: Release = "0.17" if minor < (0, 19) else "0.19" if minor < (0, 20) else "0.20"
    return Rules(known)


def pair(text: str) -> Pair:
    """Read `flavor/resource`."""
    flavor, resource = text.split("/", 1)
    return flavor, resource


def units(table: Mapping[str, int]) -> dict[Pair, int]:
    """Read a table of `flavor/resource`."""
    return {pair(name): number for name, number in table.items()}


def quota(triple: Sequence[int | None]) -> Quota:
    """Read [nominal, borrowing limit, lending limit]."""
    nominal, borrowing, lending = triple
    return Quota(nominal or 0, borrowing, lending)


def quotas(table: Mapping[str, Sequence[int | None]]) -> dict[Pair, Quota]:
    """Read a table of quotas by `flavor/resource`."""
    return {pair(name): quota(triple) for name, triple in table.items()}


def preemption(queue: Mapping[str, Any]) -> Preemption:
    """Read the preemption settings of a queue."""
    policy, threshold = queue.get("borrow_within_cohort") or ("Never", None)
    return Preemption(
        within=queue.get("within") or "Never",
        reclaim=queue.get("reclaim") or "Never",
        borrow=cast("Borrow", policy or "Never"),
        threshold=threshold,
    )


def fungibility(queue: Mapping[str, Any]) -> Fungibility:
    """Read the fungibility settings of a queue."""
    return Fungibility(
        when_can_borrow=queue.get("when_can_borrow") or "MayStopSearch",
        when_can_preempt=queue.get("when_can_preempt") or "TryNextFlavor",
        preference=queue.get("preference") or "BorrowingOverPreemption",
    )


def cohorts(listed: Iterable[Mapping[str, Any]], read: Any) -> tuple[Cohort, ...]:
    """Read the cohorts; `read` reads their quotas."""
    return tuple(
        Cohort(one["name"], one.get("parent"), read(one.get("quotas") or {})) for one in listed
    )
