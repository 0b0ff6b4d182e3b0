"""Exemptions from the idle rules: an administrator gives them, with a reason and an end."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, ExemptionSheet, LeaseId, LeaseState, Liveness, OpenLease
from hub_ext.service.reclaim.exempting import ExemptionWish
from hub_ext.service.workers.cull import Culler
from tests.support.small_core import PERIOD_S, SmallCore

IDLE = {"gpus": {"applies": ["gpu", "mig"], "limit": "10m", "notice": "2m", "start_grace": "1m"}}
ROOT = Actor(kind="user", name="root", admin=True)
HOUR = timedelta(hours=1)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    projects = {"maps": {"team": "vision"}}
    with SmallCore.running(tmp_path / "state", idle=IDLE, projects=projects) as core:
        yield core


def by(core: SmallCore, reason: str = "her model waits for data") -> dict[str, Any]:
    return {"reason": reason, "actor": ROOT, "now": core.now}


def exempt(core: SmallCore, subject: str, name: str, *, lasts: timedelta = HOUR) -> ExemptionSheet:
    wanted = ExemptionWish.model_validate(
        {"subject": subject, "name": name, "until": core.now + lasts}
    )
    return core.governor.exempt(wanted, **by(core))


def quiet(core: SmallCore, minutes: float) -> None:
    """Let time pass in which nothing computes; the culler turns all the while."""
    culler, end = Culler(), core.now + timedelta(minutes=minutes)
    while core.now < end:
        core.later(PERIOD_S)
        for lease_id in culler.live(core.governor, core.now):
            culler.look(core.governor, lease_id, core.now)


def state(core: SmallCore, lease_id: LeaseId) -> LeaseState:
    return core.lease(lease_id).state


def verdict(core: SmallCore, lease_id: LeaseId) -> str:
    found = core.governor.view_of(lease_id, now=core.now).verdict
    assert found is not None
    return found.words


@pytest.mark.parametrize("subject", ["lease", "person", "team", "project"])
def test_what_is_exempt_is_not_announced_until_the_exemption_ends_by_itself(
    core: SmallCore, subject: str
) -> None:
    lease: OpenLease = core.run("ada")
    names = {
        "lease": lease.id,
        "person": lease.key.user,
        "team": lease.team,
        "project": lease.project or "",
    }
    [given] = exempt(core, subject, names[subject]).exemptions
    assert (given.by, given.reason) == ("root", "her model waits for data")
    quiet(core, 30)
    assert state(core, lease.id) is LeaseState.running
    words = verdict(core, lease.id)
    assert words.startswith("Idle: quiet for")
    assert "Exempt from the idle rule for another" in words
    assert "her model waits for data (root)" in words
    quiet(core, 31)
    assert state(core, lease.id) is LeaseState.noticed
    assert core.governor.exemptions(now=core.now).exemptions == ()


def test_others_are_not_exempt(core: SmallCore) -> None:
    lease = core.run("ada")
    exempt(core, "person", "somebody-else")
    quiet(core, 12)
    assert state(core, lease.id) is LeaseState.noticed


def test_it_takes_a_notice_back_and_ends_by_hand_and_all_is_on_the_record(
    core: SmallCore,
) -> None:
    lease = core.run("ada")
    quiet(core, 11)
    assert state(core, lease.id) is LeaseState.noticed
    [given] = exempt(core, "lease", lease.id).exemptions
    quiet(core, 0.5)
    assert state(core, lease.id) is LeaseState.running
    withdrawn = core.events("notice.withdrawn")[0].body["reason"]
    assert isinstance(withdrawn, dict)
    assert "Exempt from the idle rule" in withdrawn["message"]
    core.governor.end_exemption(given.id, **by(core, "the data came"))
    quiet(core, 1)
    assert state(core, lease.id) is LeaseState.noticed
    told = [
        (one.kind, one.actor.name, one.body["reason"])
        for one in core.events("admin.exempt", "admin.exempt_end")
    ]
    assert told == [
        ("admin.exempt", "root", "her model waits for data"),
        ("admin.exempt_end", "root", "the data came"),
    ]
    with pytest.raises(RefusedError, match="no exemption"):
        core.governor.end_exemption(given.id, **by(core))


def test_an_exemption_bears_steps_of_the_clock(core: SmallCore) -> None:
    lease = core.run("ada")
    exempt(core, "lease", lease.id)
    now = core.now
    for later, holds in ((2, False), (0.5, True), (-1, True)):
        found = core.governor.exemption(core.lease(lease.id), now=now + later * HOUR)
        assert (found is not None) == holds


@pytest.mark.parametrize(
    ("subject", "name", "hours", "words"),
    [
        ("lease", "l-none", 1, "no such lease"),
        ("team", "nobodies", 1, "There is no team"),
        ("project", "nobodies", 1, "There is no project"),
        ("person", "ada", 0, "later than now"),
        ("person", "ada", -1, "later than now"),
        ("person", "ada", 24 * 400, "within 366 days"),
    ],
)
def test_what_cannot_be_exempt_is_refused(
    core: SmallCore, subject: str, name: str, hours: int, words: str
) -> None:
    with pytest.raises(RefusedError, match=words):
        exempt(core, subject, name, lasts=hours * HOUR)
    assert core.events("admin.exempt") == []


def test_a_closed_lease_is_not_exempt_any_more(core: SmallCore) -> None:
    lease = core.run("ada")
    core.seen[lease.id] = Liveness.gone
    core.governor.force_release(lease.id, **by(core))
    with pytest.raises(RefusedError, match="has ended"):
        exempt(core, "lease", lease.id)
