"""Judging minute by minute gives what judging everything at once gives."""

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import VerdictState
from hub_ext.policy.model import IdleRule
from tests.support.idle_hours import Hours

SHORT = IdleRule.model_validate(
    {"applies": ["gpu"], "limit": "8m", "notice": "1m", "start_grace": "0s", "window": "3m"}
)
spells = st.lists(
    st.tuples(
        st.integers(1, 9),
        st.fixed_dictionaries(
            {
                "gpu": st.sampled_from([0, 0, 0, 3, 70, None]),
                "cpu": st.sampled_from([0, 20, 20, 260, None]),
                "processes": st.sampled_from([0, 0, 1, None]),
                "memory": st.sampled_from([None, 0, 10**9]),
                "power": st.sampled_from([None, 50_000, 300_000]),
            }
        ),
    ),
    min_size=1,
    max_size=8,
)


@given(spells)
def test_minute_by_minute_is_the_same_as_everything_at_once(
    lived: list[tuple[int, dict[str, int | None]]],
) -> None:
    hours = Hours(rule=SHORT)
    for minutes, reads in lived:
        hours.pass_by(minutes, **reads)
    assert hours.verdict is not None
    whole, step = hours.whole(), hours.verdict
    assert (step.state, step.quiet_since, step.ground) == (
        whole.state,
        whole.quiet_since,
        whole.ground,
    )


@given(spells, st.sampled_from([{"input": True}, {"kernels_busy": 1}, {"kernels": 5}]))
def test_what_the_server_says_never_brings_idleness_about(
    lived: list[tuple[int, dict[str, int | None]]], said: dict[str, object]
) -> None:
    silent, told = Hours(rule=SHORT), Hours(rule=SHORT).tells(**said)
    for minutes, reads in lived:
        silent.pass_by(minutes, **reads)
        told.pass_by(minutes, **reads)
    if told.first_idle is not None:
        assert silent.first_idle is not None
        assert silent.first_idle <= told.first_idle


@given(spells, st.sampled_from(["gpu", "cpu"]), st.integers(0, 7))
def test_a_figure_that_goes_missing_never_makes_it_idle_sooner(
    lived: list[tuple[int, dict[str, int | None]]], lost: str, where: int
) -> None:
    whole, torn = Hours(rule=SHORT), Hours(rule=SHORT)
    for number, (minutes, reads) in enumerate(lived):
        whole.pass_by(minutes, **reads)
        torn.pass_by(minutes, **(reads | {lost: None} if number == where else reads))
    quiet = all((reads["gpu"] or 0) < 5 and (reads["cpu"] or 0) < 200 for _n, reads in lived)
    if torn.first_idle is not None and quiet and whole.first_idle is not None:
        assert whole.first_idle <= torn.first_idle


def test_without_readings_a_quiet_server_becomes_unknown() -> None:
    hours = Hours(rule=SHORT).pass_by(20)
    hours.devices.clear()
    hours.processes.clear()
    for _ in range(5):
        hours._judge()
        hours.now += hours.now - hours.start
    assert hours.verdict is not None
    assert hours.verdict.state is VerdictState.unknown
