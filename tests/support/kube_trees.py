"""Random trees as policies make them, and random steps as a governor takes them; no I/O.

Scenarios have the schema `kueue-real/1`, so that what a Kueue did is replayed as recordings are.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = dict[str, Any]
FLAVOR = "f0"
RUNNING, WAITING = 2000, 1000
_BEGIN = 4
"""Requests with which a tree begins: in an empty one nothing is decided."""

_LIMITS = (None, None, None, 1, 2)


@dataclass
class Tree:
    """One tree of cohorts and queues, with the leases in it as they were last seen."""

    id: str
    chance: Random
    cohorts: list[Json] = field(default_factory=list)
    queues: list[Json] = field(default_factory=list)
    steps: list[Json] = field(default_factory=list)
    uids: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    called: str = ""

    @classmethod
    def random(cls, name: str, chance: Random) -> "Tree":
        """A site: what nobody is guaranteed at the root, teams with projects and teams without."""
        tree = cls(name, chance)
        tree.cohorts.append(_cohort("site", None, [chance.randint(0, 1), None, None]))
        for n in range(chance.randint(2, 3)):
            nominal, lending = chance.randint(0, 3), chance.choice(_LIMITS)
            # Nobody lends more than it has: the API refuses that.
            lending = lending and min(lending, nominal)
            quota = [nominal, chance.choice(_LIMITS), lending]
            if chance.random() < 0.5:
                tree.queues.append(_queue(f"team{n}", "site", quota))
                continue
            tree.cohorts.append(_cohort(f"team{n}", "site", quota))
            for project in range(chance.randint(1, 2)):
                share = chance.choice([0, 0, 1, 2])
                tree.queues.append(_queue(f"team{n}.p{project}", f"team{n}", [share, None, None]))
        return tree

    def names(self, *kinds: str) -> list[str]:
        """Leases that stand so in the last step."""
        last = self.steps[-1] if self.steps else {}
        return sorted(name for kind in kinds for name in last.get(kind, ()))

    def step(self) -> Json:
        """Choose what happens next: requests, starts, calls, ends, withdrawals, other quotas."""
        # Of those that are evicted each stops soon.
        there = self.names("admitted", "pending", *["holding"] * 4)
        kind = self.chance.random()
        if len(self.numbers) < _BEGIN:
            return self._create()
        if (do := self._renumbering(kind)) is not None:
            return do
        if there and kind < 0.55:
            return {"op": "delete", "name": self.chance.choice(there)}
        if kind > 0.97:
            return self._other_quota()
        return self._create()

    def _renumbering(self, kind: float) -> Json | None:
        admitted, pending = self.names("admitted"), self.names("pending")
        fresh = [name for name in admitted if self.numbers[name] < RUNNING]
        chance = self.chance
        owners = [name for name in pending if self.homes[name] != self.homes.get(self.called)]
        if self.called and owners:
            # Whoever is parked does not hear of a called-in lease: its own number is touched.
            self.called = ""
            return self._number(chance.choice(owners), WAITING + chance.randint(0, 999))
        if fresh and kind < 0.15:
            # What starts is lifted above all that wait.
            return self._number(chance.choice(fresh), RUNNING + chance.randint(0, 998))
        if pending and kind < 0.2:
            return self._number(chance.choice(pending), WAITING + chance.randint(0, 999))
        others = [name for name in admitted if self._elsewhere(name, pending)]
        if others and kind < 0.45:
            self.called = chance.choice(others)
            return self._number(self.called, chance.randint(0, 999))
        return None

    def _elsewhere(self, lease: str, pending: list[str]) -> bool:
        """Whether a lease's queue borrows, and somebody waits in another one."""
        home = self.homes[lease]
        nominal = next(one["quotas"][FLAVOR][0] for one in self.queues if one["name"] == home)
        borrows = self.steps[-1]["usage"].get(f"{home}/{FLAVOR}", 0) > nominal
        return borrows and any(self.homes[one] != home for one in pending)

    def _other_quota(self) -> Json:
        queue = self.chance.choice(self.queues)
        _nominal, borrowing, lending = queue["quotas"][FLAVOR]
        quota = [self.chance.randint(lending or 0, 4), borrowing, lending]
        return {"op": "set_quota", "queue": queue["name"], "flavor": FLAVOR, "quota": quota}

    def _create(self) -> Json:
        name = f"w{len(self.numbers):02}"
        self.homes[name] = self.chance.choice(self.queues)["name"]
        # A number of its own for each: two of one second would fall at random.
        self.numbers[name] = WAITING + self.chance.randint(0, 99) * 10 + len(self.numbers) % 10
        return {
            "op": "create",
            "name": name,
            "queue": self.homes[name],
            "units": self.chance.choice([1, 1, 2, 2, 3]),
            "priority": self.numbers[name],
            "on_evict": "hold",
        }

    def _number(self, name: str, number: int) -> Json:
        self.numbers[name] = number
        return {"op": "set_priority", "name": name, "priority": number}

    def scenario(self) -> Json:
        """What happened, for the replay."""
        return {
            "id": self.id,
            "flavors": [FLAVOR],
            "cohorts": self.cohorts,
            "queues": self.queues,
            "priority_class": False,
            "uid_order": sorted(self.uids, key=self.uids.__getitem__),
            "steps": self.steps,
        }


def _cohort(name: str, parent: str | None, quota: list[int | None]) -> Json:
    # A root has nobody to borrow from, and the API refuses limits there.
    return {"name": name, "parent": parent, "quotas": {FLAVOR: quota}}


def _queue(name: str, cohort: str, quota: list[int | None]) -> Json:
    return {
        "name": name,
        "cohort": cohort,
        "quotas": {FLAVOR: quota},
        "strategy": "BestEffortFIFO",
        "within": "Never",
        "reclaim": "LowerPriority",
        "borrow_within_cohort": None,
    }
