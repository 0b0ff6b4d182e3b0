"""What people reported of other cullers, each with what is right: busy work stopped, idle kept."""

from datetime import timedelta

import pytest

from hub_ext.lease import VerdictState
from tests.support.idle_hours import MINUTE, Hours

MIB = 1024**2
GIB = 1024**3


# --- busy work that others stopped ---------------------------------------------------------------


def test_a_long_silent_cell_that_computes_is_in_use() -> None:
    hours = Hours().tells(kernels_busy=1).pass_by(300, gpu=90, cpu=1000)
    assert not hours.is_idle()


def test_a_cell_that_ends_after_hours_leaves_an_hour_to_see_the_result() -> None:
    hours = Hours().pass_by(180, gpu=95, cpu=900, processes=1)
    ended = hours.now
    hours.tells(cell_ended_at=ended, cell_s=3 * 3600).pass_by(59)
    assert not hours.is_idle()
    assert hours.verdict is not None
    hours.pass_by(30)
    assert hours.idle_after() is not None


def test_a_short_limit_waits_an_hour_too_after_a_long_cell() -> None:
    hours = Hours(rule=Hours().rule.model_copy(update={"limit": timedelta(minutes=20)}))
    hours.pass_by(60, gpu=95, cpu=900)
    hours.tells(cell_ended_at=hours.now, cell_s=3600).pass_by(58)
    assert not hours.is_idle()
    assert hours.verdict is not None
    assert hours.verdict.held_by == "cell"


def test_a_job_in_a_terminal_is_in_use() -> None:
    hours = Hours().tells(kernels=0, terminals=1).pass_by(300, cpu=800)
    assert not hours.is_idle()


def test_a_background_process_without_output_is_in_use() -> None:
    assert not Hours().tells(kernels=1).pass_by(300, gpu=[0, 0, 60], cpu=50).is_idle()


def test_somebody_who_is_in_the_notebook_is_in_use() -> None:
    hours = Hours().pass_by(30, gpu=50, cpu=500).tells(input=True).pass_by(120)
    assert not hours.is_idle()
    assert hours.verdict is not None
    assert hours.verdict.held_by == "input"


def test_hours_of_download_are_in_use_and_advised_a_profile_without_a_gpu() -> None:
    hours = Hours().pass_by(360, cpu=100, net=20 * MIB, processes=0)
    assert not hours.is_idle()
    assert hours.verdict is not None
    assert (hours.verdict.state, hours.verdict.ground) == (VerdictState.active, "gpu_unused")


def test_disk_work_between_steps_is_in_use() -> None:
    assert not Hours().pass_by(300, cpu=60, disk=5 * MIB).is_idle()


def test_a_broken_counter_at_zero_is_no_reason_while_the_cpu_feeds_the_gpu() -> None:
    assert not Hours().pass_by(300, gpu=0, cpu=1000).is_idle()


def test_a_broken_counter_at_zero_is_no_reason_while_the_board_draws_power() -> None:
    hours = Hours().pass_by(20, gpu=0, power=60_000).pass_by(300, gpu=0, power=400_000)
    assert not hours.is_idle()
    assert hours.verdict is not None
    assert hours.verdict.held_by == "power"


def test_one_low_reading_takes_no_veto_away_and_one_high_reading_gives_none() -> None:
    works = Hours().pass_by(20, gpu=0, power=60_000)
    works.pass_by(300, gpu=0, power=[400_000, 400_000, 60_000])
    assert not works.is_idle()
    rests = Hours().pass_by(300, gpu=0, power=[60_000, 60_000, 60_000, 60_000, 60_000, 90_000])
    assert rests.idle_after() == Hours().pass_by(300, gpu=0, power=60_000).idle_after()


@pytest.mark.parametrize("lost", ["gpu", "cpu"])
def test_a_counter_that_is_not_offered_is_unknown_and_keeps(lost: str) -> None:
    hours = Hours().pass_by(300, **{lost: None})
    assert not hours.is_idle()
    assert hours.verdict is not None
    assert hours.verdict.state is VerdictState.unknown


def test_waiting_for_workers_elsewhere_has_twice_the_time_and_is_told() -> None:
    hours = Hours().pass_by(5, gpu=50, processes=1)
    hours.tells(kernels_busy=1, busy_since=hours.now).pass_by(118)
    assert not hours.is_idle()
    hours.pass_by(10)
    assert hours.is_idle()
    assert hours.verdict is not None
    assert hours.verdict.ground == "no_progress"


def test_memory_that_is_loaded_and_freed_is_use() -> None:
    assert not Hours().pass_by(300, memory=[GIB, 2 * GIB, 3 * GIB]).is_idle()


def test_processes_that_come_and_go_are_use() -> None:
    assert not Hours().pass_by(300, changes=[1, 0, 0, 1]).is_idle()


def test_a_server_is_not_judged_in_its_first_quarter_of_an_hour() -> None:
    hours = Hours(rule=Hours().rule.model_copy(update={"limit": 5 * MINUTE})).pass_by(14)
    assert not hours.is_idle()
    assert hours.verdict is not None
    assert hours.verdict.held_by == "start_grace"


# --- idle that others kept -----------------------------------------------------------------------


def test_an_open_tab_alone_is_idle() -> None:
    hours = Hours().tells(kernels=1).pass_by(90, processes=1)
    assert hours.idle_after() in {60, 61}


def test_a_server_that_was_never_opened_is_idle_after_half_an_hour() -> None:
    hours = Hours().pass_by(90, processes=0)
    assert hours.idle_after() in {30, 31}


def test_a_gpu_used_once_and_then_left_is_idle() -> None:
    hours = Hours().pass_by(10, gpu=80, cpu=500, processes=1).pass_by(80, processes=1)
    assert hours.idle_after() is not None
    assert 69 <= (hours.idle_after() or 0) <= 76


def test_memory_that_is_held_and_still_is_no_use() -> None:
    hours = Hours().pass_by(10, gpu=80, memory=70 * GIB, processes=1)
    hours.pass_by(90, memory=70 * GIB, processes=1)
    assert hours.is_idle()


def test_input_that_nobody_answers_is_idle_after_two_hours() -> None:
    hours = Hours().pass_by(5, gpu=80, processes=1)
    hours.tells(kernels_busy=1, busy_since=hours.now).pass_by(140, processes=1)
    assert hours.is_idle()


def test_an_idle_terminal_does_not_keep() -> None:
    assert Hours().tells(kernels=0, terminals=2).pass_by(90).is_idle()


def test_printing_in_a_loop_does_not_keep() -> None:
    hours = Hours().pass_by(5, gpu=80, processes=1)
    hours.tells(kernels_busy=1, busy_since=hours.now, output_at=hours.now)
    assert hours.pass_by(140, cpu=30, processes=1).is_idle()


def test_nvidia_smi_in_a_loop_does_not_keep() -> None:
    assert Hours().pass_by(200, gpu=[4, 0, 0], cpu=40, processes=1).is_idle()


def test_forged_input_keeps_for_four_hours_and_no_longer() -> None:
    hours = Hours().pass_by(10, gpu=80, cpu=500, processes=1)
    hours.tells(input=True).pass_by(10 + 240 + 50, processes=1)
    assert not hours.is_idle()
    hours.pass_by(30, processes=1)
    assert hours.is_idle()


def test_cells_that_are_said_to_end_for_ever_keep_no_longer_either() -> None:
    hours = Hours().pass_by(10, gpu=80, cpu=500, processes=1)
    for _ in range(40):
        hours.tells(cell_ended_at=hours.now, cell_s=3600).pass_by(10, processes=1)
    assert hours.is_idle()


def test_a_kernel_that_says_busy_for_ever_keeps_for_two_hours() -> None:
    hours = Hours().tells(kernels_busy=1, busy_since=Hours().start).pass_by(200, processes=1)
    assert 118 <= (hours.idle_after() or 0) <= 122


def test_a_mig_device_has_its_own_limits() -> None:
    hours = Hours(kind="mig").pass_by(90, processes=0)
    assert hours.idle_after() in {60, 61}
