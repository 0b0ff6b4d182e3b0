"""Laws of the engine that hold for any tree, any settings and any load."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.engine import CURRENT, Rules, State, Victim, cycle, settle, targets
from hub_ext.admission.engine.flavors import Mode
from hub_ext.admission.engine.run import Run
from hub_ext.admission.engine.tally import Tally
from hub_ext.admission.engine.victims import Want, find

from .trees import states

releases = st.sampled_from([Rules("0.17"), Rules("0.19"), Rules("0.20")])


def check_limits(state: State, *, after: State) -> None:
    """What is charged stays inside every limit, except where it was beyond it before."""
    before, tally = Tally(state), Tally(after)
    for pair, quotas in tally.quotas.items():
        for name, node in quotas.nodes.items():
            used, had = quotas.used(name), before.quotas[pair].used(name)
            if node.parent is None:
                assert used <= max(had, quotas.shape.whole[name])
            elif node.borrowing_limit is not None:
                most = quotas.shape.whole[name] + node.borrowing_limit
                assert used <= max(had, most)


@given(states(), releases)
def test_nothing_goes_over_capacity_or_a_limit(state: State, rules: Rules) -> None:
    after, _done = settle(state, rules)
    check_limits(state, after=after)


@given(states(), releases)
def test_no_queue_at_or_below_nominal_loses_to_another(state: State, rules: Rules) -> None:
    by_id = {one.id: one for one in state.workloads}
    tally = Tally(state)
    for victim in cycle(state, rules).victims:
        lost, winner = by_id[victim.id], by_id[victim.for_id]
        if lost.queue == winner.queue:
            assert victim.reason == "InClusterQueue"
            continue
        over = [pair for pair in lost.usage or {} if not within(tally, lost.queue, pair)]
        assert over, f"{victim} though {lost.queue} is inside its quota"


def within(tally: Tally, queue: str, pair: tuple[str, str]) -> bool:
    return tally.used(queue, pair) <= tally.quotas[pair].shape.whole[queue]


@given(states(), releases)
def test_victims_are_as_few_as_possible(state: State, rules: Rules) -> None:
    run = Run(state, rules)
    for workload in state.workloads:
        if workload.usage is not None:
            continue
        entry = run.nominate(workload)
        found = entry.targets
        if entry.assignment.mode is Mode.fit or not found:
            continue
        tally = Tally(state)
        tally.without(one.workload for one in found)
        assert tally.fits(workload.queue, entry.assignment.request)
        inside = tally.inside(workload.queue, entry.assignment.request)
        for one in found:
            tally.restore((one.workload,))
            needed = not tally.fits(workload.queue, entry.assignment.request)
            # Without borrowing one may be needed only to stay inside nominal.
            needed |= inside and not tally.inside(workload.queue, entry.assignment.request)
            assert needed, f"{one.workload.id} would not have to end for {workload.id}"
            tally.without((one.workload,))


@given(states(), releases, st.randoms(use_true_random=False))
def test_the_order_of_equal_input_does_not_matter(
    state: State, rules: Rules, shuffle: Random
) -> None:
    cohorts, queues, workloads = list(state.cohorts), list(state.queues), list(state.workloads)
    shuffle.shuffle(cohorts)
    shuffle.shuffle(queues)
    shuffle.shuffle(workloads)
    mixed = State(tuple(cohorts), tuple(queues), tuple(workloads))
    assert cycle(state, rules) == cycle(mixed, rules)


@given(states(), releases)
def test_deciding_twice_gives_the_same_and_leaves_the_state_alone(
    state: State, rules: Rules
) -> None:
    first = cycle(state, rules)
    assert cycle(state, rules) == first
    after, _done = settle(state, rules)
    again, done = settle(after, rules)
    assert again == after
    assert not done.admitted
    assert not done.victims


@given(states())
def test_looking_for_victims_leaves_the_tally_as_it_was(state: State) -> None:
    tally, untouched = Tally(state), Tally(state)
    for workload in state.workloads:
        queue = tally.queues[workload.queue]
        request = {
            ("on", resource): units
            for resource, units in workload.requests.items()
            if ("on", resource) in queue.quotas
        }
        find(tally, Want(workload, request, frozenset(request)))
    for pair, quotas in tally.quotas.items():
        for name in quotas.nodes:
            assert quotas.used(name) == untouched.quotas[pair].used(name)


@given(states())
def test_targets_of_one_request_are_those_of_a_cycle_with_it_alone(state: State) -> None:
    for workload in state.workloads:
        if workload.usage is not None:
            continue
        alone = replace(
            state,
            workloads=tuple(
                one for one in state.workloads if one.usage is not None or one is workload
            ),
        )
        found, done = targets(state, workload.id), cycle(alone, CURRENT)
        evicted = {one.id for one in state.workloads if one.evicted}
        fresh: tuple[Victim, ...] = tuple(one for one in found or () if one.id not in evicted)
        assert fresh == done.victims
        assert (found == ()) == bool(done.admitted)


@given(states())
def test_every_request_that_is_not_admitted_is_told_why(state: State) -> None:
    done = cycle(state)
    admitted = {one.id for one in done.admitted}
    for workload in state.workloads:
        if workload.usage is None and workload.id not in admitted:
            assert done.pending[workload.id].message
