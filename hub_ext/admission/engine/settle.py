"""Cycles until nothing changes: what a real Kueue comes to after one event."""

from .run import Fits, Run
from .values import CURRENT, Admission, Cycle, Rules, State, Victim


def settle(
    state: State, rules: Rules = CURRENT, fits: Fits | None = None, *, now: int = 0
) -> tuple[State, Cycle]:
    """Run cycles over the active workloads until nothing changes.

    A workload that is evicted goes on holding its quota: whoever stops it takes it out of the
    state.

    Returns
    -------
    State and Cycle
        What is then, and all admissions, victims and reasons on the way.
    """
    run = Run(state, rules, fits)
    admitted: list[Admission] = []
    victims: list[Victim] = []
    while True:
        before = (set(run.parked), dict(run.preemptors))
        turn = run.process(now)
        admitted += turn.admitted
        victims += turn.victims
        changed = turn.admitted or turn.victims or before != (run.parked, run.preemptors)
        if not changed:
            break
    after = run.state()
    return after, Cycle(
        tuple(admitted), tuple(victims), run.pending(), after.parked, after.preemptors
    )
