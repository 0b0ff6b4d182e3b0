"""Budgets in force, as stories through the governor: what starts, what waits, what is told."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import (
    Actor,
    Ask,
    Choice,
    Grant,
    LeaseState,
    OpenLease,
    ProfileName,
    UserName,
    When,
)
from hub_ext.policy.catalogue import Person
from hub_ext.policy.load import loads
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.rules.unenforced import DayRow
from tests.support.governing import GROUPS, POLICY, START, Site, site_in

ENFORCE = POLICY.replace("idle: enforce", "idle: enforce, budget: enforce")
HARD = 'budgets:\n  month: {team: vision, amount: "2.16", hard: true}\n'
"""EUR 2.16 pay for three hours of a MIG slice at 0.72."""


@pytest.fixture
def crowd() -> Iterator[list[str]]:
    people = [f"v{n:02}" for n in range(50)]
    GROUPS.update(dict.fromkeys(people, ("vision",)))
    yield people
    for one in people:
        del GROUPS[one]


def refused(site: Site, user: str, profile: str = "small", **how: object) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        site.ask(site.asking(user, profile, **how))  # type: ignore[arg-type]
    return caught.value


def lasting(site: Site, user: str, seconds: int, server: str = "") -> Ask:
    """Ask for a slice that lives so long."""
    asked = site.asking(user, "small", server=server)
    choice = asked.choice.model_copy(update={"lifetime_s": seconds})
    return asked.model_copy(update={"choice": choice})


def wide(policy: str) -> str:
    """Give the pool of slices room for everybody, so that money alone is short."""
    slices = ", ".join(["1g.18gb"] * 7)
    return policy.replace(
        "{name: node-1, gpus: 1, geometry: [[1g.18gb, 1g.18gb, 1g.18gb]]}",
        f"{{name: node-1, gpus: 8, geometry: [{', '.join([f'[{slices}]'] * 8)}]}}",
    ).replace('mig: {nominal: "0.25"}', 'mig: {nominal: "7"}')


def test_fifty_launches_at_once_on_a_budget_for_three_start_exactly_three(
    tmp_path: Path, crowd: list[str]
) -> None:
    async def story(site: Site) -> list[str]:
        core = CoreRunner(site.governor, lambda: site.now, Stream(8))

        async def launch(asked: Ask) -> str:
            try:
                grant = await core.run(lambda governor, now: governor.ask(asked, now=now))
            except RefusedError as error:
                return str(error.figures.get("why", error.code))
            return str(grant.profile)

        answers = await asyncio.gather(*(launch(site.asking(user, "small")) for user in crowd))
        core._thread.shutdown()
        return list(answers)

    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        answers = asyncio.run(story(site))
        assert sorted(answers) == ["budget-short"] * 47 + ["small"] * 3
        assert len(site.held()) == 3


def test_what_is_not_used_comes_back_and_what_is_used_does_not(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        grants = [site.run("vera", "small", server=name) for name in ("", "b", "c")]
        words = refused(site, "viktor")
        assert words.figures["left_micro"] == 0
        assert "EUR 2.16" in words.message
        assert "Choose a shorter lifetime" in words.message
        site.later(1800)
        # As time passes, what is committed becomes what is spent; together they stay.
        assert refused(site, "viktor").figures["spent_micro"] == 3 * 360_000
        site.stop(grants[0])
        again = refused(site, "viktor")
        assert again.figures["left_micro"] == 360_000
        assert again.figures["fits_s"] == 1800
        assert "It would pay for 30m of this." in again.message
        site.ask(lasting(site, "viktor", 1800))
        assert refused(site, "vera", server="d").figures["left_micro"] == 0


def test_a_month_is_not_spent_twice_and_the_next_one_begins_with_all_of_it(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        for name in ("", "b", "c"):
            grant = site.run("vera", "small", server=name)
            site.later(3600)
            site.stop(grant)
            site.report_devices()
        assert refused(site, "viktor").figures["spent_micro"] == 2_160_000
        site.restart()
        assert refused(site, "viktor").figures["spent_micro"] == 2_160_000
        # The last hour of November is taken from November alone, half of this from December.
        site.now = START.replace(hour=23, minute=30)
        site.report_devices()
        assert refused(site, "viktor").figures["why"] == "budget-short"
        site.now = START.replace(month=12, day=1, hour=0)
        site.report_devices()
        site.run("viktor", "small")


def test_more_time_is_money_too(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        lease_id = site.run("vera", "small").lease_id
        vera, admin = Actor(kind="user", name="vera"), Actor(kind="user", name="ann", admin=True)
        site.governor.extend(lease_id, seconds=3600, actor=vera, now=site.now)
        site.ask(lasting(site, "viktor", 1800))
        with pytest.raises(RefusedError) as caught:
            site.governor.extend(lease_id, seconds=3600, actor=vera, now=site.now)
        assert caught.value.code == "budget-short"
        assert caught.value.figures["extend_max_s"] == 1800
        assert "Extend it by less" in caught.value.message
        with pytest.raises(RefusedError):
            site.governor.prolong(
                lease_id, site.later(60) + timedelta(hours=4), reason="x", actor=admin, now=site.now
            )
        longer = site.governor.extend(lease_id, seconds=1800, actor=vera, now=site.now)
        assert longer.ends_at == START + timedelta(hours=2, minutes=30)
        assert refused(site, "vera", server="b").figures["left_micro"] == 0


SOFT = """\
budgets:
  maps:
    {project: maps, amount: "1.44",
     steps: [{at: 50, act: guaranteed_only}, {at: 100, act: no_new}]}
"""


def test_a_soft_budget_lets_what_runs_go_on_and_starts_less_as_it_is_spent(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=ENFORCE + SOFT) as site:
        vera = site.run("vera", "one").lease_id
        site.later(360)
        site.run("viktor", "small")
        site.report_devices()
        site.later(360)
        # A GPU at 3.60 an hour for 12 minutes: half of it is spent, and a second one would borrow.
        found = refused(site, "viktor", "one", server="b")
        assert found.figures["why"] == "budget-guaranteed-only"
        assert "nothing new may borrow" in found.message
        site.run("viktor", "small", server="c")
        site.later(900)
        found = refused(site, "viktor", "small", server="d")
        assert found.figures["why"] == "budget-no-new"
        assert "It begins anew on 2026-12-01 00:00:00 UTC" in found.message
        assert site.governor.leases(user="vera")[0].id == vera
        with pytest.raises(RefusedError, match="nothing new"):
            site.governor.extend(
                vera, seconds=60, actor=Actor(kind="user", name="vera"), now=site.now
            )
        site.run("viktor", "cpu", server="e")
        site.run("sue", "one")


def test_observe_starts_it_says_what_would_have_been_and_sums_it_up(tmp_path: Path) -> None:
    for mode, words in (
        ("observe", "If budgets were enforced, this would have waited for budget month."),
        ("advise", "Once budgets are enforced, this would be refused: This costs"),
    ):
        policy = ENFORCE.replace("budget: enforce", f"budget: {mode}")
        with site_in(tmp_path / mode, policy=wide(policy) + HARD) as site:
            for name in ("", "b", "c"):
                reason = site.lease(site.run("vera", "small", server=name)).reason
                assert reason is not None
                assert "udget" not in reason.message
            lease = site.lease(site.run("viktor", "small"))
            assert lease.reason is not None
            assert words in lease.reason.message
            assert lease.reason.figures["budget_would_have_code"] == "budget-short"
            site.governor.extend(
                lease.id, seconds=60, actor=Actor(kind="user", name="viktor"), now=site.now
            )
            assert site.governor.unenforced(now=site.now) == (
                DayRow("2026-11-30", "vision", 0, 0, 0, unpaid=2),
            )


def test_an_unpriced_flavor_cannot_start_on_a_hard_budget_and_says_why(tmp_path: Path) -> None:
    policy = ENFORCE.replace(
        '  - {pool: mig, flavor: 1g.18gb, from: 2026-01-01, per_hour: "0.72"}\n', ""
    )
    with site_in(tmp_path / "state", policy=policy + HARD) as site:
        found = refused(site, "vera")
        assert (found.code, found.status) == ("budget-unpriced", 403)
        assert "has no price" in found.message
        assert "ask an administrator" in found.message


def test_somebody_who_waits_for_money_starts_when_it_comes_and_keeps_nobody_up(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        grants = [site.run("vera", "small", server=name) for name in ("", "b", "c")]
        waits = site.waits("viktor", "small", when=When.hold)
        assert site.serve() == 0
        (ticket,) = site.governor.tickets(lambda lease: True, now=site.now)
        assert ticket.reason.code == "budget-short"
        assert "left" in ticket.reason.message
        site.stop(grants[0])
        assert site.serve() == 1
        assert site.now_is(waits).state is LeaseState.held
        # What is held for somebody is taken from the budget, so nobody else gets it meanwhile.
        assert refused(site, "vera", server="e").figures["why"] == "budget-short"
        site.run("viktor", "small")


def test_what_was_held_is_decided_again_when_it_is_claimed(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        grants = [site.run("vera", "small", server=name) for name in ("", "b", "c")]
        waits = site.waits("viktor", "small", when=When.hold)
        site.stop(grants[0])
        assert site.serve() == 1
        cut = loads(wide(ENFORCE) + HARD.replace("2.16", "1.00"))
        site.governor.set_policy(cut, now=site.now)
        assert refused(site, "viktor").code == "queued"
        assert site.now_is(waits).state is LeaseState.queued


def changing(site: Site, grant: Grant, seconds: int) -> OpenLease:
    """Let a server change to another kind of one GPU, which lives so long."""
    return site.governor.switch(
        grant.lease_id,
        Choice(profile=ProfileName("other"), lifetime_s=seconds),
        groups=GROUPS["vera"],
        actor=Actor(kind="user", name="vera"),
        now=site.now,
    )


@pytest.mark.parametrize(("seconds", "fits"), [(2611, False), (2610, True)])
def test_a_server_is_stopped_for_another_only_where_that_is_paid_for_after_the_slowest_stop(
    tmp_path: Path, seconds: int, fits: bool
) -> None:
    """A thousandth of a euro a second: 3 600 in all, 600 spent, 390 go until it has stopped."""
    other = "  other: {title: Other, pool: whole, flavor: {gpus: 1}, cpu: '1', memory: 1GiB, "
    other += "lifetime: {default: 1h, longest: 2h}}\nprices:"
    policy = ENFORCE.replace("prices:", other) + HARD.replace("2.16", "3.60")
    with site_in(tmp_path / "state", policy=policy) as site:
        old = site.run("vera")
        site.later(600)
        fresh = changing(site, old, seconds)
        for _seconds in range(4):
            site.serve()
            site.later(15)
        assert (site.lease(old).state is LeaseState.stopping) is fits
        if not fits:
            assert site.now_is(fresh).state is LeaseState.queued
            return
        site.later(299)
        site.stop(old)
        asked = site.asking("vera", "other")
        choice = asked.choice.model_copy(update={"lifetime_s": seconds})
        assert site.ask(asked.model_copy(update={"choice": choice})).lease_id == fresh.id


def test_my_limits_show_the_budgets_that_bind_me_with_what_is_left(tmp_path: Path) -> None:
    each = '  own: {team: vision, each: person, amount: "5.00", steps: [{at: 90, act: no_new}]}\n'
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD + each) as site:
        site.run("vera", "small")
        site.later(1800)
        vera = Person(user=UserName("vera"), groups=("vision",))
        sheet = site.governor.limits(vera, now=site.now)
        month, own = sheet.budgets
        assert (month.spent_micro, month.committed_micro, month.left_micro) == (
            360_000,
            360_000,
            1_440_000,
        )
        assert (own.user, own.spent_micro, own.percent) == ("vera", 360_000, 7)
        assert own.next_step is not None
        assert own.next_step.at_percent == 90
        viktor = site.governor.limits(
            Person(user=UserName("viktor"), groups=("vision",)), now=site.now
        )
        assert viktor.budgets[1].spent_micro == 0, "of a colleague's own nothing is shown"
        said = [one.words for one in sheet.limits if one.subject == "budgets"]
        assert "EUR 1.44 is left" in said[0]
        assert "From 90 % on, nothing new with a GPU starts" in said[1]
        sam = Person(user=UserName("sam"), groups=("speech",))
        assert site.governor.limits(sam, now=site.now).budgets == ()


def test_kept_sums_are_those_that_a_new_governor_reads(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        grant = site.run("vera", "small")
        site.later(1234)
        site.stop(grant)
        person = Person(user=UserName("vera"), groups=("vision",))
        before = site.governor.limits(person, now=site.now).budgets
        site.restart()
        assert site.governor.limits(person, now=site.now).budgets == before
        assert before[0].spent_micro == 1234 * 200


def test_requests_of_two_pools_are_not_held_on_the_same_money(tmp_path: Path) -> None:
    """A slice and a GPU wait for EUR 3.60: either is paid for, both are not."""
    with site_in(tmp_path / "state", policy=ENFORCE + HARD.replace("2.16", "3.60")) as site:
        first = site.run("vera", "one")
        slices = site.waits("viktor", "small", when=When.hold)
        whole = site.waits("vera", "one", server="b", when=When.hold)
        assert site.serve() == 0
        site.stop(first)
        assert site.serve() == 1
        states = {site.now_is(one).state for one in (slices, whole)}
        assert states == {LeaseState.held, LeaseState.queued}


def test_what_lies_in_the_next_month_is_told_as_that(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=wide(ENFORCE) + HARD) as site:
        site.now = START.replace(hour=23, minute=30)
        site.report_devices()
        # Half an hour of each is November's; three hours of December are paid for.
        for name, seconds in (("a", 5400), ("b", 5400), ("c", 4500)):
            site.ask(lasting(site, "vera", seconds, server=name))
        found = refused(site, "viktor")
        assert "This costs EUR 0.36 for 30m, and budget month of team vision" in found.message
        assert "as it begins anew on 2026-12-01 00:00:00 UTC" in found.message
