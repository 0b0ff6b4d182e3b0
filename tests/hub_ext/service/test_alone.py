"""A GPU or machine that a project has alone: nobody else gets a part, and all of it is paid for."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import Choice, Grant, LeaseState, OpenLease, Posting, When
from hub_ext.lease.reserving import ReservationWish
from hub_ext.mig.geometry import device_units
from hub_ext.policy.prices import PriceSpan
from hub_ext.service.basis.access import Caller
from hub_ext.service.books.restcharges import summed
from hub_ext.service.money.usage import Scope
from hub_ext.service.sheets.rows import usage_lines
from tests.support.governing import START, Site
from tests.support.ledger_places import ENGINES
from tests.support.true_site import true_site

RULES = """\
version: 1
currency: EUR
timezone: UTC
modes: {quota: enforce, idle: enforce}
pools:
  mig:
    model: h200-141gb
    nodes: [{name: node-1, gpus: 2, geometry: [[1g.18gb, 1g.18gb, 1g.18gb], [1g.18gb, 1g.18gb]]}]
    exclusive: [gpu]
  whole:
    model: h200-141gb
    nodes: [{name: node-2, gpus: 2}, {name: node-3, gpus: 3}]
    exclusive: [node]
    reservable: {by: everyone, most: "5"}
teams:
  vision:
    groups: [vision]
    leads: [lena]
    quota: {mig: {nominal: "0.375"}, whole: {nominal: "2", borrowing_limit: "1"}}
    over_quota: borrow
  speech:
    groups: [speech]
    quota: {mig: {nominal: "0.25"}, whole: {nominal: "3"}}
projects:
  maps: {team: vision}
profiles:
  small:
    {title: MIG, pool: mig, flavor: {mig: 1g.18gb}, cpu: "1", memory: 1GiB,
     lifetime: {default: 1h, longest: 4h}}
  one:
    {title: One GPU, pool: whole, flavor: {gpus: 1}, cpu: "2", memory: 2GiB,
     lifetime: {default: 1h, longest: 2h}}
prices:
  - {pool: whole, from: 2026-01-01, per_hour: "3.60"}
  - {pool: mig, flavor: 1g.18gb, from: 2026-01-01, per_hour: "0.72"}
"""
HOUR = 3600


@pytest.fixture(params=ENGINES)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with true_site(request, tmp_path, RULES) as opened:
        yield opened


def alone(site: Site, user: str, profile: str, what: str, **how: object) -> Grant:
    asked = site.asking(user, profile, **how)  # type: ignore[arg-type]
    choice = asked.choice.model_copy(update={"alone": what})
    grant = site.ask(asked.model_copy(update={"choice": Choice.model_validate(choice)}))
    site.started(grant)
    return grant


def lines(site: Site, grant: Grant) -> dict[str, Posting]:
    with site.ledger.transaction() as tx:
        every = tx.postings(start=START, end=START + timedelta(days=1))
    return {line.flavor: line for line in every if line.lease_id.startswith(grant.lease_id)}


def refused(site: Site, user: str, profile: str, **how: object) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        site.ask(site.asking(user, profile, **how))  # type: ignore[arg-type]
    return caught.value


def whole(lease: OpenLease) -> int:
    return sum(device_units(device) for device in lease.takes)


def test_the_rest_of_the_gpu_is_nobodys_and_a_line_of_its_own(site: Site) -> None:
    # The smaller GPU of the two that serve, though the other has as much room.
    grant = alone(site, "vera", "small", "gpu")
    lease = site.lease(grant)
    assert [device.gpu for device in lease.takes] == [1, 1]
    assert len(grant.devices) == 1
    assert lease.units == whole(lease) == 210
    assert set(site.held()) <= {device.id for device in lease.takes}
    # Three other slices are there, on the other GPU; a fourth would be beside vera's.
    for name in ("sam", "sue", "viktor"):
        assert site.run(name, "small").devices[0].gpu == 0
    assert refused(site, "viktor", "small", server="second").code == "would-queue"
    site.later(HOUR)
    site.stop(grant)
    own, rest = lines(site, grant)["1g.18gb"], lines(site, grant)["rest-of-gpu"]
    assert (own.units, own.amount_micro, own.seconds) == (105, 720_000, HOUR)
    assert (rest.units, rest.amount_micro, rest.seconds) == (105, 720_000, HOUR)
    assert (rest.team, rest.project, rest.lease_id) == (
        "vision",
        "maps",
        f"{grant.lease_id}-rest",
    )
    assert site.run("viktor", "small", server="second").devices[0].gpu == 1


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.lists(st.none() | st.integers(0, 9), min_size=1)),
        min_size=1,
        max_size=3,
    )
)
def test_prices_of_the_rest_add_up_and_one_that_is_missing_leaves_none(
    tilings: list[tuple[int, list[int | None]]],
) -> None:
    last = START + timedelta(hours=1)
    priced = []
    for times, prices in tilings:
        step = (last - START) / len(prices)
        edges = [START + step * number for number in range(len(prices))] + [last]
        spans = tuple(
            PriceSpan(first, after, price)
            for (first, after), price in zip(pairwise(edges), prices, strict=True)
        )
        priced.append((times, spans))
    total = summed(priced)
    assert (total[0].start, total[-1].end) == (START, last)
    for span in total:
        parts = [
            (times, next(x for x in spans if x.start <= span.start < x.end))
            for times, spans in priced
        ]
        found = [(n, x.price_micro_per_hour) for n, x in parts]
        missing = any(price is None for _n, price in found)
        wanted = None if missing else sum(n * (price or 0) for n, price in found)
        assert span.price_micro_per_hour == wanted


def test_a_whole_machine_is_had_alone(site: Site) -> None:
    grant = alone(site, "vera", "one", "node")
    lease = site.lease(grant)
    assert {device.node for device in lease.takes} == {"node-2"}
    assert (len(lease.devices), len(lease.rest), lease.units) == (1, 1, 1680)
    others = [site.run(name, server=str(n)).devices[0].node for n, name in enumerate(["sam"] * 3)]
    assert others == ["node-3"] * 3
    site.later(HOUR)
    site.stop(grant)
    assert lines(site, grant)["rest-of-node"].amount_micro == 3_600_000
    assert lines(site, grant)["gpu-1"].amount_micro == 3_600_000


def test_it_waits_while_others_are_on_every_machine_that_it_may_have(site: Site) -> None:
    one = site.run("sam")
    assert one.devices[0].node == "node-2"
    asked = site.asking("vera", "one", when=When.hold)
    choice = asked.choice.model_copy(update={"alone": "node"})
    with pytest.raises(RefusedError) as caught:
        site.ask(asked.model_copy(update={"choice": choice}))
    assert caught.value.figures["why"] == "nothing-alone"
    assert "On every machine of pool whole" in caught.value.message
    site.stop(one)
    site.serve()
    (lease,) = site.governor.leases()
    assert lease.state is LeaseState.held
    assert (len(lease.devices), len(lease.rest)) == (1, 1)
    # Whoever comes back to what is held need not say again how they want it.
    grant = site.run("vera")
    assert site.lease(grant).alone == "node"
    assert len(site.lease(grant).takes) == 2


def test_a_device_that_comes_back_beside_it_stays_closed(site: Site) -> None:
    late = next(
        device.id for device in site.governor.devices(now=site.now) if device.node == "node-2"
    )
    site.report_devices(without=frozenset({late}))
    grant = alone(site, "vera", "one", "node")
    assert len(site.lease(grant).takes) == 1
    site.report_devices()
    for number in range(3):
        assert site.run("sam", server=str(number)).devices[0].node == "node-3"
    assert late not in site.held()


@pytest.mark.parametrize(
    ("user", "profile", "what", "words"),
    [
        ("vera", "small", "node", "In pool mig a project may have alone: whole GPU"),
        ("sam", "one", "node", "is for a project, and this team has none"),
    ],
)
def test_what_the_policy_does_not_let_be_is_refused(
    site: Site, user: str, profile: str, what: str, words: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        alone(site, user, profile, what)
    assert caught.value.status == 403
    assert words in caught.value.message


def test_the_panel_shows_what_both_lines_cost(site: Site) -> None:
    grant = alone(site, "vera", "one", "node")
    site.later(HOUR)
    cost = site.governor.view_of(grant.lease_id, now=site.now).cost
    assert cost is not None
    assert (cost.so_far_micro, cost.price_micro_per_hour) == (7_200_000, 7_200_000)


def test_a_machine_can_be_reserved_to_be_had_alone(site: Site) -> None:
    start = (START + timedelta(hours=1)).replace(tzinfo=None)
    wish = ReservationWish.model_validate(
        {
            "profile": "one",
            "starts": start,
            "ends": start + timedelta(hours=2),
            "alone": "node",
        }
    )
    vera = Caller(kind="person", name="vera", groups=("vision",))
    one = site.governor.reserve(wish, vera, now=site.now)
    assert (one.units, one.alone) == (1680, "node")
    grants = [site.run("sam", server=str(n)) for n in range(3)]
    for grant in grants:
        assert site.lease(grant).ends_at == START + timedelta(hours=1)
    site.later(HOUR)
    for grant in grants:
        site.stop(grant)
    site.governor.tend_reservations(now=site.now)
    lease = next(one for one in site.governor.leases() if one.key.user == "vera")
    assert lease.state is LeaseState.held
    assert {device.node for device in lease.takes} == {"node-2"}
    grant = site.run("vera")
    assert (site.lease(grant).id, len(site.lease(grant).takes)) == (lease.id, 2)


def test_usage_has_one_lease_and_both_lines_and_the_page_names_them(site: Site) -> None:
    grant = alone(site, "vera", "one", "node")
    site.later(HOUR)
    for _time in range(2):
        usage = site.governor.usage(Scope("me", user="vera"), START, site.now, now=site.now)
        assert usage.total.leases == 1
        assert usage.total.amount_micro == 7_200_000
        assert usage.total.unit_s == 1680 * HOUR
        told = [line.cells[-2] for line in usage_lines(usage, "UTC")]
        assert set(told) == {"guaranteed", "rest of the machine, kept empty"}
        assert {line.href for line in usage_lines(usage, "UTC")} == {f"leases/{grant.lease_id}"}
        file = site.governor.dossier(grant.lease_id, now=site.now)
        assert {line.flavor for line in file.lines} == {"gpu-1", "rest-of-node"}
        if site.lease(grant).open:
            site.stop(grant)
