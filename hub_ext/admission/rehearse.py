"""Kueue's cycles over the waiting requests of one pool, until each has its answer.

It says who is asked when and what is kept back meanwhile; each answer is the caller's.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from .decision import Admitted, Decision
from .engine.order import Key, head_key
from .gates import Kind, kinds
from .order import turn
from .quota import Quotas, available, charge, held_back, level
from .snapshot import Demand, Scene
from .starving import Bar, bar_of, barred, overdue

Answer = Callable[[Scene, Demand], Decision]
Told = tuple[Demand, Decision, Scene]
"""A request, its answer, and the pool after it."""

_Entry = tuple[Demand, ...]
"""One place in a queue: a request that waits, or all that somebody asks about for that place."""


def rehearse(
    view: Scene, waiting: Iterable[Demand], answer: Answer, *, asked: Sequence[Demand] = ()
) -> Iterator[Told]:
    """Answer requests as Kueue would come to them; each sees what those before it could take.

    First come those that have waited longer than their pool lets anybody wait, the oldest first.
    Then, cycle by cycle, the first of each queue: by level, priority number, time and id. One that
    was faster in the same cycle is the only reason to come again in the next.

    Parameters
    ----------
    view
        The pool as it is now.
    waiting
        Requests that take what they are given.
    answer
        Decides one request on the pool as it meets it.
    asked
        Requests of one queue and one place in it, of which only one will come: each is answered
        as if it were the only one, and then the rest is not looked at. Of those that wait, who
        finds no quota anyway is then passed over without an answer.
    """
    run = _Rehearsal(view, answer, asked)
    entries: list[_Entry] = [(one,) for one in waiting]
    if asked:
        entries.append(tuple(asked))
    first, rest = overdue(view, entries)
    for entry in first:
        yield from run.turn(entry)
    lines: dict[str, list[_Entry]] = {}
    for entry in sorted(rest, key=lambda entry: turn(entry[0]), reverse=True):
        lines.setdefault(view.queue(entry[0]), []).append(entry)
    run.hurry(lines)
    while lines and not run.over:
        yield from run.cycle(lines)


class _Rehearsal:
    """The pool on the way, and what is known of those refused so far."""

    def __init__(self, view: Scene, answer: Answer, asked: Sequence[Demand]) -> None:
        self.view = view
        self._answer = answer
        self._left = {id(one) for one in asked}
        self._asked = frozenset(self._left)
        self._enforced = view.policy.modes.quota == "enforce"
        self._kind_of = kinds(view)
        self._refused: dict[Kind, Decision] = {}
        self._passed: dict[str, list[tuple[Scene, _Entry]]] = {}
        self._met: dict[Kind, tuple[Scene, Demand]] = {}
        self._bars: list[Bar] = []
        self._seen = view.quotas
        self._free: dict[str, int] = {}
        self._levels: dict[tuple[str, int], int] = {}

    @property
    def over(self) -> bool:
        """Whether all that was asked about has its answer."""
        return bool(self._asked) and not self._left

    def turn(self, entry: _Entry) -> Iterator[Told]:
        """Answer what has waited too long; until it has started, others are held up for it."""
        for demand in entry:
            told = self._tell(demand)
            yield told
            if id(demand) not in self._asked and self._enforced:
                bar = bar_of(self.view, demand, told[1])
                self._bars += [bar] if bar is not None else []

    def hurry(self, lines: dict[str, list[_Entry]]) -> None:
        """Pass over the first cycles, as many as come to nobody who is asked about or finds quota.

        In a pool that is full this is all that a long line takes.
        """
        if self.over or not self._brief:
            return
        count = min(self._vain(queue, line) for queue, line in lines.items())
        for queue, line in list(lines.items()):
            left = max(0, len(line) - count)
            self._passed[queue] = [(self.view, entry) for entry in reversed(line[left:])]
            del line[left:]
            if not line:
                del lines[queue]

    def _vain(self, queue: str, line: Sequence[_Entry]) -> int:
        """Count the first entries of a line that find no quota; a whole line ends no hurry."""
        free = self._free_now(queue)
        for count, (first, *_more) in enumerate(reversed(line)):
            if free is None or first.units <= free or id(first) in self._asked:
                return count
        return sys.maxsize

    def cycle(self, lines: dict[str, list[_Entry]]) -> Iterator[Told]:
        """Come to the head of each queue once; who is answered leaves its queue.

        What a head keeps back only lets later ones come again; nobody is told of it.
        """
        start = self.view.quotas
        heads = [(queue, one) for queue in lines for one in lines[queue].pop()]
        if start is not self._seen:
            self._seen, self._free, self._levels = start, {}, {}
        fits = {id(one) for queue, one in heads if self._fits_now(queue, one)}
        kept: list[tuple[str, int]] = []
        again: dict[str, list[Demand]] = {}
        for queue, demand in sorted(heads, key=lambda head: self._key(*head)):
            if id(demand) in fits:
                if kept and not self._fits(self._left_by(kept), queue, demand):
                    again.setdefault(queue, []).append(demand)
                    continue
            elif id(demand) not in self._asked:
                if fits:
                    kept.append((queue, self._hold_back(queue, demand)))
                if self._brief:
                    self._passed.setdefault(queue, []).append((self.view, (demand,)))
                    continue
            yield self._tell(demand)
        for queue, demands in again.items():
            lines[queue].append(tuple(demands))
        for queue in [queue for queue, line in lines.items() if not line]:
            del lines[queue]

    @property
    def _brief(self) -> bool:
        """Whether who finds no quota is passed over.

        It takes nothing, so its answer is only wanted where somebody later would be told the same.
        """
        return bool(self._asked) and not self._bars

    def _fits(self, quotas: Quotas, queue: str, demand: Demand) -> bool:
        """Whether quota is there; where it is not enforced it always is."""
        known = self._enforced and queue in quotas.nodes
        return not known or demand.units <= available(quotas, queue)

    def _fits_now(self, queue: str, demand: Demand) -> bool:
        free = self._free_now(queue)
        return free is None or demand.units <= free

    def _free_now(self, queue: str) -> int | None:
        """Units that a queue finds in the pool as it is; None where quota is not asked.

        For a long queue they stay as they are.
        """
        if not self._enforced or queue not in self._seen.nodes:
            return None
        if queue not in self._free:
            self._free[queue] = available(self._seen, queue)
        return self._free[queue]

    def _left_by(self, kept: list[tuple[str, int]]) -> Quotas:
        quotas = self.view.quotas
        for queue, units in kept:
            quotas = charge(quotas, queue, units)
        return quotas

    def _key(self, queue: str, demand: Demand) -> Key:
        place = (queue, demand.units)
        if place not in self._levels:
            known = queue in self._seen.nodes
            self._levels[place] = level(self._seen, queue, demand.units) if known else 0
        height = self._levels[place]
        uid = f"{demand.tie} {demand.key.user} {demand.key.server}"
        return head_key(height, demand.priority, demand.requested_at, uid)

    @cached_property
    def _calling(self) -> frozenset[str]:
        """Requests for which others are called in."""
        called = (lease.called_in for lease in self.view.holding)
        return frozenset(one.for_lease for one in called if one is not None)

    def _hold_back(self, queue: str, demand: Demand) -> int:
        """Units that a head keeps from those behind it in the cycle.

        All of it where others are called in for it: what they leave is for nobody else.
        """
        if demand.tie in self._calling:
            return demand.units
        return held_back(self.view.quotas, queue, demand.units)

    def _tell(self, demand: Demand) -> Told:
        self._left.discard(id(demand))
        decision = self._decide(demand)
        if isinstance(decision, Admitted) and id(demand) not in self._asked:
            self.view = self.view.after(demand, decision.devices)
        return demand, decision, self.view

    def _decide(self, demand: Demand) -> Decision:
        held_up = barred(self.view, self._bars, demand)
        if held_up is not None:
            return held_up
        kind = self._kind_of(demand)
        known = self._refused.get(kind) or self._of_passed(kind, demand)
        if known is not None:
            return known
        decision = self._answer(self.view, demand)
        if not isinstance(decision, Admitted):
            self._refused[kind] = decision
        return decision

    def _of_passed(self, kind: Kind, demand: Demand) -> Decision | None:
        """Answer the first of a kind that was passed over, as it was met."""
        for view, one in self._passed.pop(self.view.queue(demand), ()):
            self._met.setdefault(self._kind_of(one[0]), (view, one[0]))
        if kind not in self._met:
            return None
        self._refused[kind] = self._answer(*self._met[kind])
        return self._refused[kind]
