"""Each kind of anomaly is found, with owner and act; its quiet neighbours are not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hub_ext.anomaly import (
    NO_LIFE,
    NO_SPELL,
    Ended,
    Facts,
    Finding,
    Held,
    Life,
    Pool,
    Reach,
    Silence,
    Spell,
    Stranger,
    Stray,
    Tasks,
    find,
    of_lease,
)
from hub_ext.lease import DeviceId, LeaseState, PoolName, ServerKey, TeamName, UserName
from hub_ext.policy.model import Anomalies
from tests.hub_ext.anomaly.scene import GIB, NOW, ago, held, lease, spell

RULES = Anomalies()
STILL = Tasks(readings=720, known=720, mean_millis=20)
IDLE_BUT_FULL = held(spells=(spell(most=0, least=100 * GIB),), tasks=STILL)
UNTOUCHED = held(
    lease(hours=2),
    spells=(spell(hours=2, most=0, least=0),),
    tasks=STILL,
    life=Life(sampled_s=7100, peak_percent=0),
)


def found(facts: Facts, rules: Anomalies = RULES) -> list[tuple[str, str]]:
    return [one.key for one in find(facts, rules)]


def of(*leases: Held, alike: Mapping[str, Ended] | None = None, **more: Any) -> Facts:
    """Facts of a site whose leases were looked at just now."""
    known = [
        finding
        for one in leases
        for finding in of_lease(one, (alike or {}).get(one.lease.profile), RULES, NOW)
    ]
    return Facts(now=NOW, leases=[one.lease for one in leases], known=known, **more)


def only(facts: Facts, rules: Anomalies = RULES) -> Finding:
    [one] = find(facts, rules)
    return one


def test_an_ordinary_site_has_none() -> None:
    assert found(of(held(), held(lease("l-2", user="viktor")))) == []


def test_memory_that_is_held_while_nothing_runs_is_hoarding() -> None:
    one = only(of(IDLE_BUT_FULL))
    assert (one.kind, one.owner, one.teams, one.act) == ("hoarding", "vera", ("vision",), "notice")
    assert one.figure == 100 * GIB
    assert "100GiB of GPU memory are held, and for 2h nothing ran" in one.words
    assert one.since == NOW - RULES.hoarding


NO_HOARDING = {
    "one kernel ran": held(spells=(spell(most=5, least=100 * GIB),), tasks=STILL),
    "data is prepared beside it": replace(
        IDLE_BUT_FULL, tasks=Tasks(readings=720, known=720, mean_millis=900)
    ),
    "nobody saw its processes": replace(IDLE_BUT_FULL, tasks=None),
    "its processes were seen for half of the time": replace(
        IDLE_BUT_FULL, tasks=Tasks(readings=720, known=360, mean_millis=10)
    ),
    "utilisation is not told": held(
        spells=(spell(most=None, least=100 * GIB, known=0),), tasks=STILL
    ),
    "a context and no more": held(spells=(spell(most=0, least=GIB),), tasks=STILL),
    "readings begin late": held(spells=(spell(hours=1, most=0, least=100 * GIB),), tasks=STILL),
    "readings ended a while ago": held(
        spells=(spell(most=0, least=100 * GIB, last_at=ago(0.2)),), tasks=STILL
    ),
    "it started an hour ago": held(
        lease(hours=1), spells=(spell(most=0, least=100 * GIB),), tasks=STILL
    ),
    "one of its two GPUs works": held(
        spells=(spell(most=0, least=100 * GIB), spell(most=80, least=100 * GIB)), tasks=STILL
    ),
}


@pytest.mark.parametrize("name", NO_HOARDING)
def test_what_is_no_hoarding(name: str) -> None:
    assert found(of(NO_HOARDING[name])) == []


def test_a_gpu_that_was_never_touched_is_asked_about() -> None:
    one = only(of(UNTOUCHED))
    assert (one.kind, one.owner, one.act) == ("never_used", "vera", "ask")
    assert (one.since, one.figure) == (ago(2), 7200)


NO_NEVER_USED = {
    "it was used in the morning": replace(UNTOUCHED, life=Life(sampled_s=7100, peak_percent=40)),
    "half of its life was not read": replace(UNTOUCHED, life=Life(sampled_s=3600, peak_percent=0)),
    "nobody read it": replace(UNTOUCHED, life=NO_LIFE),
    "it has loaded a model": replace(
        UNTOUCHED, spells=(spell(most=0, least=0, most_bytes=60 * GIB),)
    ),
    "it started a moment ago": replace(UNTOUCHED, lease=lease(hours=0.5)),
    "its memory is not told": replace(UNTOUCHED, spells=(replace(spell(), most_bytes=None),)),
}


@pytest.mark.parametrize("name", NO_NEVER_USED)
def test_what_was_used_or_not_seen_is_not_never_used(name: str) -> None:
    assert found(of(NO_NEVER_USED[name])) == []


def pool(gpus: int = 8, held_: Sequence[Reach] = (), **more: Any) -> Pool:
    fields: dict[str, Any] = {
        "name": "whole",
        "usable_units": gpus * 840,
        "held": held_,
        "since": ago(1000),
        "free_units": 0,
        "free_micro_per_hour": None,
    }
    return Pool(**{**fields, **more})


def servers(user: str, count: int, hours: float = 6) -> list[Held]:
    return [held(lease(f"{user}-{n}", user=user, hours=hours)) for n in range(count)]


def test_who_holds_half_of_a_pool_is_asked_with_all_their_servers() -> None:
    one = only(of(*servers("vera", 4), *servers("viktor", 3), pools=(pool(),)))
    assert (one.kind, one.subject, one.owner) == ("pool_share", "whole/vera", "vera")
    assert (one.figure, len(one.leases), one.act) == (50, 4, "ask")
    assert one.words == "vera holds 50 % of pool whole, with 4 servers."


def test_it_counts_from_when_the_share_was_reached() -> None:
    fresh = [*servers("vera", 3), held(lease("new", user="vera", hours=0.5))]
    assert found(of(*fresh, pools=(pool(),))) == []
    quick = Anomalies.model_validate({"pool_for": "20m"})
    assert found(of(*fresh, pools=(pool(),)), quick) == [("pool_share", "whole/vera")]


def test_time_in_the_queue_is_no_time_of_holding() -> None:
    waited = [held(lease(f"q-{n}", requested_at=ago(6), assigned_at=ago(0.5))) for n in range(4)]
    assert found(of(*waited, pools=(pool(),))) == []
    late = held(lease(requested_at=ago(9), assigned_at=ago(5)), cost_micro=24_000_000)
    assert only(of(late, alike=USUAL)).since == ago(5)


def test_a_small_pool_or_a_team_that_shares_it_is_no_anomaly() -> None:
    assert found(of(*servers("vera", 2), pools=(pool(3),))) == []
    team = [one for user in ("vera", "viktor", "vlad") for one in servers(user, 2)]
    assert found(of(*team, pools=(pool(6),))) == []


def test_teams_of_all_their_leases_are_told() -> None:
    speech = [held(lease(f"s-{n}", team=TeamName("speech"))) for n in range(2)]
    one = only(of(*speech, *servers("vera", 2), pools=(pool(6),)))
    assert one.teams == ("speech", "vision")


USUAL = {"one": Ended(costs=(5_000_000,) * 5 + (8_000_000,) * 5)}


def test_a_lease_much_dearer_than_its_like_is_told_with_both_amounts() -> None:
    one = only(of(held(cost_micro=24_000_000), alike=USUAL))
    assert (one.kind, one.owner, one.act) == ("dear", "vera", "notice")
    assert "It has cost EUR 24.00; half of the 10 leases" in one.words
    assert "cost EUR 5.00 or less" in one.words


@pytest.mark.parametrize(
    ("cost", "alike"),
    [
        (14_000_000, USUAL),
        (None, USUAL),
        (24_000_000, {}),
        (24_000_000, {"one": Ended(costs=(5_000_000,) * 7)}),
        (24_000_000, {"one": Ended(costs=(9_000_000,) * 10)}),
        (24_000_000, {"two": Ended(costs=(1_000_000,) * 10)}),
    ],
    ids=["cheap", "not priced", "nothing known", "too few", "not so much dearer", "other profile"],
)
def test_what_is_usual_or_unknown_is_not_dear(cost: int | None, alike: dict[str, Ended]) -> None:
    assert found(of(held(cost_micro=cost), alike=alike)) == []


STRAY = Stray(
    device=DeviceId("GPU-x"),
    node="node-1",
    pids=(4711, 4712),
    memory_bytes=3 * GIB,
    since=ago(0.1),
    lease=lease("gone", state=LeaseState.closed),
    micro_per_hour=3_600_000,
    pool="whole",
)


def test_processes_outside_any_lease_are_named_with_whom_they_were_of() -> None:
    one = only(of(strays=(STRAY,)))
    assert (one.kind, one.subject, one.device) == ("outside", "GPU-x", "GPU-x")
    assert (one.owner, one.act, one.micro_per_hour) == ("vera", "quarantine", 3_600_000)
    assert "Process 4711, 4712 on node-1 uses GPU-x" in one.words
    assert only(of(strays=(replace(STRAY, lease=None),))).owner is None
    assert found(of(strays=(replace(STRAY, since=NOW - timedelta(seconds=90)),))) == []


def test_a_server_without_a_lease_is_told_once_it_stays() -> None:
    key = ServerKey(user=UserName("sam"))
    one = only(of(strangers=(Stranger(key, ago(1), "its owner is in no group of a team"),)))
    assert (one.kind, one.owner, one.act, one.leases) == ("outside", "sam", "stop", ())
    assert "its owner is in no group" in one.words
    assert found(of(strangers=(Stranger(key, NOW, ""),))) == []


def test_a_server_that_the_hub_forgot_is_to_be_closed() -> None:
    stopping = lease("l-9", state=LeaseState.stopping)
    one = only(of(forgotten=((stopping, ago(0.5)),)))
    assert (one.kind, one.subject, one.act) == ("forgotten", "l-9", "close")
    assert found(of(forgotten=((stopping, NOW - timedelta(seconds=40)),))) == []


def test_a_silent_machine_is_one_gap_and_not_one_for_each_server() -> None:
    unread = replace(held(), spells=(NO_SPELL,))
    facts = of(
        unread,
        replace(unread, lease=lease("l-2", user="viktor")),
        silent=(Silence("node-1", ago(1)), Silence("node-2", NOW - timedelta(minutes=14))),
    )
    one = only(facts)
    assert (one.kind, one.subject, one.act, len(one.leases)) == ("gap", "node-1", "notice", 2)
    assert one.teams == ("vision",)
    assert "2 servers run there unseen" in one.words


def test_a_device_that_is_not_read_is_a_gap_of_its_server() -> None:
    stale = replace(spell(), known_at=ago(0.5))
    one = only(of(held(spells=(spell(), stale))))
    assert (one.kind, one.subject, one.since) == ("gap", "l-1", ago(0.5))
    assert only(of(held(spells=(NO_SPELL,)))).since == ago(6)


def test_one_figure_is_enough_and_a_place_on_kubernetes_has_none_to_miss() -> None:
    assert found(of(held(spells=(replace(spell(), most_percent=None, known=0),)))) == []
    assert found(of(held(spells=(NO_SPELL,), measured=False))) == []
    assert found(of(held(lease(hours=0.1), spells=(NO_SPELL,)))) == []
    assert found(of(held(spells=()))) == [], "nobody has looked yet"


def test_capacity_that_nobody_held_for_a_day_is_told_with_its_price() -> None:
    idle = pool(4, [Reach(ago(50), ago(3), 1680)], free_units=3360, free_micro_per_hour=14_400_000)
    one = only(of(pools=(idle,)))
    assert (one.kind, one.subject, one.act, one.owner) == ("unallocated", "whole", "ask", None)
    assert (one.figure, one.micro_per_hour) == (1680, 7_200_000)
    assert "2 GPUs of pool whole were held by nobody for 1d" in one.words


def test_the_most_that_was_held_at_once_counts() -> None:
    one_after_the_other = [
        Reach(ago(23), ago(12), 1680),
        Reach(ago(12), ago(2), 1680),
        Reach(ago(40), ago(25), 3360),
    ]
    free = pool(4, one_after_the_other, free_units=3360)
    assert only(of(pools=(free,))).figure == 1680
    at_once = [*one_after_the_other, Reach(ago(13), ago(11), 1680)]
    assert found(of(pools=(pool(4, at_once, free_units=3360),))) == []


@pytest.mark.parametrize(
    "more",
    [
        {"since": ago(5)},
        {"free_units": 420},
        {"usable_units": 420, "free_units": 3360},
    ],
    ids=["known for hours alone", "half a GPU free", "out of service"],
)
def test_what_is_no_unallocated_capacity(more: dict[str, Any]) -> None:
    assert found(of(pools=(pool(4, (), **{"free_units": 3360, **more}),))) == []


def test_without_a_price_it_says_none() -> None:
    assert only(of(pools=(pool(4, (), free_units=3360),))).micro_per_hour is None


def test_several_are_found_together_in_a_fixed_order() -> None:
    facts = of(
        IDLE_BUT_FULL,
        replace(UNTOUCHED, lease=lease("l-2", hours=2)),
        strays=(STRAY,),
        pools=(pool(8, (), free_units=3360),),
    )
    assert found(facts) == [
        ("hoarding", "l-1"),
        ("never_used", "l-2"),
        ("outside", "GPU-x"),
        ("unallocated", "whole"),
    ]
    assert {one.pool for one in find(facts, RULES)} == {PoolName("whole")}


def pretending(**more: Any) -> Spell:
    """Half a day in which a kernel of one thread runs all the time."""
    fields = {"hours": 12, "most": 100, "least": 2 * GIB, "busy": 4320, "gauged": 4320}
    return spell(**{**fields, "most_sm": 2, "most_dram": 0, **more})


def kept_alive(*long: Spell, **more: Any) -> Held:
    return held(lease(hours=30), long=long or (pretending(),), **more)


def test_a_gpu_that_looks_busy_and_computes_nothing_is_told_to_administrators_alone() -> None:
    one = only(of(kept_alive()))
    assert (one.kind, one.owner, one.teams, one.act) == ("gaming", "vera", (), "ask")
    assert "looked busy for 12h and computed next to nothing (2 % of its" in one.words
    assert found(of(kept_alive(input_at=ago(13)))) == [("gaming", "l-1")]


NO_GAMING = {
    "somebody was at it this morning": kept_alive(input_at=ago(4)),
    "one short burst of real work": kept_alive(pretending(most_sm=40)),
    "it copies data all the time": kept_alive(pretending(most_dram=20)),
    "the driver tells no more than utilisation": kept_alive(
        pretending(gauged=0, most_sm=None, most_dram=None)
    ),
    "half of the time was not gauged": kept_alive(pretending(gauged=2000)),
    "it rests, which the idle rules see": kept_alive(pretending(busy=300)),
    "readings begin late": kept_alive(pretending(first_at=ago(6))),
    "its second GPU really works": kept_alive(pretending(), pretending(most_sm=90)),
    "it is young": held(lease(hours=6)),
}


@pytest.mark.parametrize("name", NO_GAMING)
def test_what_is_no_gaming(name: str) -> None:
    assert found(of(NO_GAMING[name])) == []
