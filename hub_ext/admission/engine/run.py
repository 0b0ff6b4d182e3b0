"""One admission cycle: the heads of all queues, in order, on one working copy.

`cycle` and `targets` are what others call; `Run` keeps the working copy over several cycles.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..quota import kept_back
from . import words
from .flavors import Assignment, Mode, assign
from .order import in_queue, of_heads
from .tally import Tally
from .values import CURRENT, Admission, Cycle, Pair, Pending, Rules, State, Victim, Workload
from .victims import Target, Want, find

Fits = Callable[[Workload, Assignment], bool]
"""A further check of what quota lets pass; it may remember what it gave away."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One head with the flavors found for it and the victims that it needs."""

    workload: Workload
    assignment: Assignment
    targets: tuple[Target, ...] = ()


class Run:
    """Cycles over one state, one after the other."""

    def __init__(self, state: State, rules: Rules, fits: Fits | None = None) -> None:
        self.rules = rules
        self.fits = fits
        self.tally = Tally(state)
        self.preemptors = dict(state.preemptors)
        self.parked = set(state.parked)
        self.why: dict[str, Pending] = {}
        self.waiting: dict[str, dict[str, Workload]] = {name: {} for name in self.tally.queues}
        self._state = state
        for workload in state.workloads:
            if workload.usage is None and workload.queue in self.waiting:
                self.waiting[workload.queue][workload.id] = workload
        self._lines = {
            name: sorted(waiting.values(), key=in_queue, reverse=True)
            for name, waiting in self.waiting.items()
        }

    def heads(self) -> list[Workload]:
        """The first active workload of each queue."""
        return [head for name in sorted(self.waiting) if (head := self._head(name)) is not None]

    def _head(self, name: str) -> Workload | None:
        """The first of a queue: whose preemption is in flight, else by priority, time and uid."""
        queue = self.tally.queues[name]
        waiting, parks = self.waiting[name], queue.strategy == "BestEffortFIFO"
        if not queue.active:
            return None
        first = waiting.get(self.preemptors.get(name, "")) if parks else None
        if first is not None and first.id not in self.parked:
            return first
        line = self._lines[name]
        while line and (line[-1].id not in waiting or (parks and line[-1].id in self.parked)):
            line.pop()
        return line[-1] if line else None

    def nominate(self, workload: Workload) -> Entry:
        """Choose flavors for a head, and victims where it needs some."""
        assignment = assign(self.tally, workload, self.rules)
        if assignment.mode in (Mode.no_fit, Mode.fit):
            return Entry(workload, assignment)
        if assignment.targets is not None:
            return Entry(workload, assignment, assignment.targets)
        want = Want(workload, assignment.request, assignment.contested)
        return Entry(workload, assignment, tuple(find(self.tally, want)))

    def cycle(self, now: int = 0) -> Cycle:
        """Process all heads once, and say of every request why it is not admitted."""
        turn = self.process(now)
        return Cycle(
            admitted=tuple(turn.admitted),
            victims=tuple(turn.victims),
            pending=self.pending(),
            parked=frozenset(self.parked),
            preemptors=dict(self.preemptors),
        )

    def process(self, now: int) -> "Turn":
        """Process all heads once; `now` is the reservation time of what is admitted."""
        entries = [self.nominate(head) for head in self.heads()]
        entries.sort(key=lambda entry: of_heads(entry.workload, entry.assignment.level))
        turn = Turn(self, now)
        for entry in entries:
            turn.process(entry)
        turn.end()
        return turn

    def pending(self) -> dict[str, Pending]:
        """Why each request still waits, also those that were not tried."""
        found: dict[str, Pending] = {}
        for name, waiting in self.waiting.items():
            queue = self.tally.queues[name]
            line = sorted(waiting.values(), key=in_queue)
            for ahead, workload in enumerate(line):
                known = self.why.get(workload.id)
                found[workload.id] = known or words.untried(queue, workload, ahead)
        return found

    def state(self) -> State:
        """Everything as it is now: who is admitted, marked and parked."""
        workloads: list[Workload] = []
        for workload in self._state.workloads:
            held = self.tally.admitted.get(workload.queue, {}).get(workload.id)
            workloads.append(held or workload)
        return replace(
            self._state,
            workloads=tuple(workloads),
            parked=frozenset(self.parked),
            preemptors=dict(self.preemptors),
        )


class Turn:
    """The processing of one cycle's entries, with what they charge until its end."""

    def __init__(self, run: Run, now: int) -> None:
        self.run, self.now = run, now
        self.admitted: list[Admission] = []
        self.victims: list[Victim] = []
        self.taken: dict[str, Target] = {}
        self.charged: list[tuple[str, Mapping[Pair, int]]] = []

    def process(self, entry: Entry) -> None:
        """Admit, preempt for, skip or park one entry."""
        workload, assignment = entry.workload, entry.assignment
        if assignment.mode is Mode.no_fit:
            self._park(entry)
        elif assignment.mode is not Mode.fit and not entry.targets:
            self._hold_back(entry)
            self._park(entry)
        elif any(one.workload.id in self.taken for one in entry.targets):
            self._overlap(entry)
        elif not self._still_fits(entry):
            self.run.why[workload.id] = words.skipped(workload)
        elif assignment.mode is Mode.fit:
            self._admit(entry)
        else:
            self._preempt(entry)

    def _park(self, entry: Entry) -> None:
        self.run.why[entry.workload.id] = words.pending(entry.workload, entry.assignment)
        self._set_aside(entry.workload)

    def _set_aside(self, workload: Workload) -> None:
        if self.run.tally.queues[workload.queue].strategy == "BestEffortFIFO":
            self.run.parked.add(workload.id)

    def _hold_back(self, entry: Entry) -> None:
        """Keep what the head could have from those behind it, unless it may reclaim anything."""
        tally, name = self.run.tally, entry.workload.queue
        queue = tally.queues[name]
        if queue.preemption.reclaim == "Any":
            return
        kept: dict[Pair, int] = {}
        for pair, units in entry.assignment.request.items():
            borrowing = entry.assignment.level > 0
            kept[pair] = kept_back(tally.quotas[pair], name, units, borrowing=borrowing)
        self._charge(name, kept)

    def _charge(self, queue: str, usage: Mapping[Pair, int]) -> None:
        self.run.tally.add(queue, usage)
        self.charged.append((queue, usage))

    def _overlap(self, entry: Entry) -> None:
        """Skip who needs a victim that is taken; since 0.20 try again with all taken gone."""
        if not self.run.rules.recompute_on_overlap:
            self.run.why[entry.workload.id] = words.overlapping(entry.workload)
            return
        tally, gone = self.run.tally, [one.workload for one in self.taken.values()]
        tally.without(gone)
        for one in gone:
            del tally.admitted[one.queue][one.id]
        again = self.run.nominate(entry.workload)
        tally.restore(gone)
        for one in gone:
            tally.admitted[one.queue][one.id] = one
        if again.assignment.mode is Mode.fit:
            self._charge(entry.workload.queue, again.assignment.request)
            self.run.why[entry.workload.id] = words.preempting(entry.workload, len(self.taken))
        elif again.targets and self._still_fits(again):
            self._preempt(again)
        else:
            self.run.why[entry.workload.id] = words.overlapping(entry.workload)

    def _still_fits(self, entry: Entry) -> bool:
        tally = self.run.tally
        gone = [one.workload for one in (*self.taken.values(), *entry.targets)]
        tally.without(gone)
        fits = tally.fits(entry.workload.queue, entry.assignment.request)
        tally.restore(gone)
        return fits

    def _admit(self, entry: Entry) -> None:
        run, workload, found = self.run, entry.workload, entry.assignment
        if run.fits is not None and not run.fits(workload, found):
            run.why[workload.id] = words.unplaced(workload)
            self._set_aside(workload)
            return
        run.tally.admit(workload, found.request, self.now)
        self.admitted.append(
            Admission(workload.id, found.flavors, found.request, found.level, found.level > 0)
        )
        del run.waiting[workload.queue][workload.id]
        run.parked.discard(workload.id)
        run.why.pop(workload.id, None)
        if run.preemptors.get(workload.queue) == workload.id:
            del run.preemptors[workload.queue]

    def _preempt(self, entry: Entry) -> None:
        run, workload = self.run, entry.workload
        self._charge(workload.queue, entry.assignment.request)
        for one in entry.targets:
            self.taken[one.workload.id] = one
            if not one.workload.evicted:
                self.victims.append(Victim(one.workload.id, workload.id, one.reason))
        run.preemptors[workload.queue] = workload.id
        run.parked.discard(workload.id)
        run.why[workload.id] = words.preempting(workload, len(entry.targets))

    def end(self) -> None:
        """Take back what was only charged for the cycle, and mark the victims."""
        tally = self.run.tally
        for queue, usage in self.charged:
            tally.add(queue, usage, sign=-1)
        for one in self.taken.values():
            held = tally.admitted[one.workload.queue]
            held[one.workload.id] = replace(one.workload, evicted=True)


def cycle(state: State, rules: Rules = CURRENT, fits: Fits | None = None) -> Cycle:
    """Decide one cycle over the heads of all queues.

    Parameters
    ----------
    state
        Everything at one instant; it is not changed.
    rules
        Release whose rules hold.
    fits
        Further check of a request that quota lets pass, as of a device; refused ones are parked.
    """
    return Run(state, rules, fits).cycle()


def targets(state: State, workload: str, rules: Rules = CURRENT) -> tuple[Victim, ...] | None:
    """Give the victims that one pending request needs, in Kueue's order.

    Returns
    -------
    tuple of Victim or None
        Nothing where the request fits as it is; None where no set of victims makes room.
    """
    run = Run(state, rules)
    waiting = next(one for one in state.workloads if one.id == workload and one.usage is None)
    entry = run.nominate(waiting)
    if entry.assignment.mode is Mode.fit:
        return ()
    if not entry.targets:
        return None
    return tuple(Victim(one.workload.id, workload, one.reason) for one in entry.targets)
