"""Who has had much lately comes later, who has waited comes sooner; what runs keeps its weight."""

from datetime import timedelta

from hub_ext.admission.queue import line
from hub_ext.policy.load import loads
from hub_ext.service.books.recent import RecentUse
from tests.support.governing import POLICY, Site

DAY_S = 86400
TYPES = "task_types: {usual: {title: Usual, weight: 300}}\nprofiles:\n"
LABELLED = POLICY.replace("profiles:\n", TYPES, 1).replace(
    "{title: One GPU,", "{title: One GPU, task_type: usual,"
)


def figures(site: Site) -> dict[str, int]:
    site.serve()
    return dict(site.governor._desk.ranks.recent.figures)


def test_a_gpu_hour_counts_half_after_a_day(site: Site) -> None:
    grant = site.run("vera")
    site.later(3600)
    site.stop(grant)
    fresh = figures(site)["vera"]
    assert 3500 < fresh < 3600
    site.later(DAY_S)
    assert abs(figures(site)["vera"] - fresh // 2) <= 1


def test_what_runs_counts_as_it_goes(site: Site) -> None:
    site.run("sam", "two")
    site.later(600)
    assert 1190 < figures(site)["sam"] <= 1200


def test_a_new_governor_reads_the_same_from_the_books(site: Site) -> None:
    for hour in range(1, 4):
        grant = site.run("vera")
        site.later(600 * hour)
        site.stop(grant)
        figures(site)
    site.later(60)
    before = figures(site)
    site.restart()
    assert figures(site) == before


def test_a_clock_that_was_set_back_is_read_anew_and_adds_nothing(site: Site) -> None:
    grant = site.run("vera")
    site.later(1800)
    site.stop(grant)
    before = figures(site)["vera"]
    site.later(-600)
    assert figures(site)["vera"] <= before


def test_only_so_many_charges_are_read_at_once_and_the_rest_next(site: Site) -> None:
    for _number in range(3):
        grant = site.run("vera")
        site.later(300)
        site.stop(grant)
    with site.ledger.transaction() as tx:
        whole = tx.spent(after=0, ended_after=site.now - timedelta(days=8), limit=100)
        first = tx.spent(after=0, ended_after=site.now - timedelta(days=8), limit=2)
        rest = tx.spent(after=first[-1].seq, ended_after=site.now - timedelta(days=8), limit=2)
    assert [*first, *rest] == [*whole]
    use = RecentUse()
    with site.ledger.transaction() as tx:
        use.look(tx, timedelta(days=1), site.now)
    assert 850 < use.figures["vera"] <= 900


def test_among_equals_who_had_less_comes_first(site: Site) -> None:
    used = [site.run("sam", "one"), site.run("vera", "one")]
    site.later(4 * 3600)
    site.stop(used[0])
    site.stop(used[1])
    site.report_devices()
    site.governor.set_policy(loads(LABELLED), now=site.now)
    for user, server in (("sue", "a"), ("sue", "b"), ("viktor", "c")):
        site.run(user, server=server)
    earlier = site.waits("sam")
    site.later(5)
    later = site.waits("sue", server="more")
    site.serve()
    with site.governor._desk.turn(site.now) as turn:
        order = [one.lease.id for one in line(turn.snapshot())]
    assert order == [later.id, earlier.id]


def test_a_weight_is_frozen_at_the_start(site: Site) -> None:
    site.governor.set_policy(loads(LABELLED), now=site.now)
    grant = site.run("vera", "one")
    assert (site.lease(grant).weight, site.lease(grant).priority) == (300, 2300)
    site.later(3600)
    site.serve()
    assert site.lease(grant).priority == 2300


def test_a_borrowed_lease_knows_until_when_it_is_safe(site: Site) -> None:
    guaranteed, borrowed = site.run("vera"), site.run("viktor")
    assert site.lease(guaranteed).safe_until is None
    assert site.lease(borrowed).safe_until == site.now + timedelta(minutes=30)
