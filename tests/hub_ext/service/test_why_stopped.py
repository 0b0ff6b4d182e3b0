"""One record tells why a server was stopped and why another was not, also after its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hub_ext.commands.why import lines
from hub_ext.lease import (
    AttemptId,
    Cause,
    Liveness,
    OpenLease,
    Report,
    ReportKind,
    VerdictState,
)
from hub_ext.lease.why import Why
from hub_ext.ledger.beside import reading
from hub_ext.service.leasing.why import about
from hub_ext.service.workers.cull import Culler
from tests.support.small_core import PERIOD_S, SmallCore

IDLE = {"gpus": {"applies": ["gpu", "mig"], "limit": "10m", "notice": "2m", "start_grace": "1m"}}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle=IDLE) as core:
        yield core


def asked(core: SmallCore, of: str, *, seen: bool = True) -> tuple[Why, ...]:
    return core.governor.why(about(of), lambda _lease: seen, now=core.now).found


def printed(core: SmallCore, of: str) -> str:
    sheet = core.governor.why(about(of), lambda _lease: True, now=core.now)
    return "\n".join(lines(sheet, of))


def minutes(core: SmallCore, culler: Culler, count: int) -> None:
    for _ in range(round(count * 60 / PERIOD_S)):
        core.later(PERIOD_S)
        for lease_id in culler.live(core.governor, core.now):
            culler.look(core.governor, lease_id, core.now)


def stopped(core: SmallCore) -> OpenLease:
    lease = core.run("ada")
    minutes(core, Culler(), 15)
    assert core.lease(lease.id).cause is Cause.culled
    core.seen[lease.id] = Liveness.gone
    told = Report(kind=ReportKind.ended, key=lease.key, liveness=Liveness.gone, asked=True)
    core.governor.report(AttemptId(lease.attempt_id), told, now=core.now)
    assert not core.lease(lease.id).open
    return lease


def test_why_it_runs_on_names_each_witness_and_who_tells_it(core: SmallCore) -> None:
    lease = core.run("ada")
    core.busy[lease.id] = 80
    minutes(core, Culler(), 15)
    (found,) = asked(core, "ada/-")
    assert found.evidence is not None
    assert found.evidence.state is VerdictState.active
    names = {signal.name.split(" ")[0] for signal in found.evidence.signals}
    assert {"gpu", "cpu"} <= names
    text = printed(core, "ada")
    assert "judged    In use." in text
    for signal in found.evidence.signals:
        assert f"witness   {signal.name}: {signal.state}, {signal.value}" in text


def test_why_it_was_stopped_is_told_after_its_end_with_the_evidence_of_the_stop(
    core: SmallCore,
) -> None:
    lease = stopped(core)
    for of in ("ada/-", "ada", lease.id):
        (found,) = asked(core, of)
        assert found.lease_id == lease.id
        assert found.evidence is not None
        assert found.evidence.state is VerdictState.idle
    text = printed(core, "ada/-")
    assert "judged    Idle: quiet for" in text
    assert "witness   cpu: quiet" in text
    assert "Stop announced for" in text
    newest_first = [text.index(words) for words in ("Stopping", "Stop announced", "Granted")]
    assert newest_first == sorted(newest_first)


def test_a_keep_that_followed_a_withdrawn_notice_shows_what_holds_now(core: SmallCore) -> None:
    lease = core.run("ada")
    culler = Culler()
    minutes(core, culler, 11)
    assert core.lease(lease.id).notice is not None
    core.busy[lease.id] = 80
    minutes(core, culler, 6)
    assert core.lease(lease.id).notice is None
    (found,) = asked(core, "ada")
    assert found.evidence is not None
    assert found.evidence.state is VerdictState.active
    assert any("withdrawn" in step.words for step in found.record)


def test_the_same_stands_in_the_ledger_without_a_governor(core: SmallCore, tmp_path: Path) -> None:
    lease = stopped(core)
    with reading(tmp_path / "state") as tx:
        found = about("ada/-").ended(tx, lease.key.hub)
    assert found is not None
    assert found.id == lease.id


def test_who_may_not_see_an_ended_lease_hears_nothing_of_it(core: SmallCore) -> None:
    lease = stopped(core)
    assert asked(core, lease.id, seen=False) == ()


@pytest.mark.parametrize("of", ["", "/", "a" * 400, "ada/" + "x" * 400, "l-nothing", "ada/ \x00"])
def test_odd_names_find_nothing_and_break_nothing(core: SmallCore, of: str) -> None:
    assert asked(core, of) == ()


def test_a_notice_that_was_withdrawn_is_no_reason_after_its_owner_ended_the_server(
    core: SmallCore,
) -> None:
    lease, culler = core.run("ada"), Culler()
    minutes(core, culler, 11)
    assert core.lease(lease.id).notice is not None
    core.busy[lease.id] = 80
    minutes(core, culler, 5)
    core.seen[lease.id] = Liveness.gone
    told = Report(kind=ReportKind.ended, key=lease.key, liveness=Liveness.gone, asked=True)
    core.governor.report(AttemptId(lease.attempt_id), told, now=core.now)
    assert not core.lease(lease.id).open
    (why,) = asked(core, "ada/-")
    assert why.evidence is not None
    assert why.evidence.state is VerdictState.active


def test_one_decision_leads_from_notice_and_stop_to_the_evidence(core: SmallCore) -> None:
    lease = core.run("ada")
    culler = Culler()
    minutes(core, culler, 11)
    notice = core.lease(lease.id).notice
    assert notice is not None
    decision = notice.decision
    assert decision.startswith(f"{lease.id}.")
    minutes(core, culler, 4)
    stopping = core.lease(lease.id)
    assert (stopping.cause, stopping.decision) == (Cause.culled, decision)
    (found,) = asked(core, decision)
    assert found.lease_id == lease.id
    assert found.evidence is not None
    assert found.evidence.decision == decision
    # What the stop rests on was seen after the notice, just before the stop.
    assert found.evidence.at >= notice.stops_at
    assert [one.decision for one in found.record[:5]] == [decision] * 5
    text = printed(core, decision)
    assert f"decision  {decision}" in text
    assert "The server was stopped to free its GPU" in found.answer
    for one in found.evidence.signals:
        words = f"{one.name}: {one.state}, {one.value} over {one.window_s} s; {one.source}, "
        assert f"{words}{one.age_s} s old, trust agent" in text


def test_each_decision_leads_to_its_own_evidence(core: SmallCore) -> None:
    lease = core.run("ada")
    culler = Culler()
    minutes(core, culler, 11)
    first = core.lease(lease.id).notice
    assert first is not None
    core.busy[lease.id] = 80
    minutes(core, culler, 2)
    (idle,), (now,) = asked(core, first.decision), asked(core, lease.id)
    assert idle.evidence is not None
    assert now.evidence is not None
    assert (idle.evidence.state, idle.evidence.decision) == (VerdictState.idle, first.decision)
    assert now.evidence.state is VerdictState.active
    assert now.evidence.decision not in {"", first.decision}
    assert asked(core, f"{lease.id}.99")[0].evidence == now.evidence


def test_a_decision_goes_on_over_a_restart_of_the_governor(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with SmallCore.running(state, idle=IDLE) as core:
        lease = core.run("ada")
        minutes(core, Culler(), 11)
        told = core.lease(lease.id).notice
        assert told is not None
        now, count = core.now, len(core.events("verdict.changed"))
    with SmallCore.running(state, idle=IDLE) as core:
        core.now = now
        # Nothing was judged yet: what is on record answers.
        (found,) = asked(core, "ada/-")
        assert found.evidence is not None
        assert found.evidence.decision == told.decision
        core.later(PERIOD_S)
        culler = Culler()
        minutes(core, culler, 1)
        assert core.lease(lease.id).notice == told
        assert len(core.events("verdict.changed")) == count
