"""Devices of a project: the same at each start, nobody else's ever, moved only by an event."""

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Device, Grant, Inventory, ProfileName, ProjectName, SampleBatch
from hub_ext.lease.reserving import ReservationWish
from hub_ext.ledger.verify import verify
from hub_ext.policy.load import loads
from hub_ext.policy.room import open_to
from hub_ext.service.basis.access import Caller
from hub_ext.service.books.floor import declared
from hub_ext.service.books.pinbook import PINNED
from tests.support.governing import POLICY, Site, site_in

PINS = (
    POLICY.replace(
        "  maps: {team: vision}",
        "  maps: {team: vision, device: {pool: mig, mig: 1g.18gb, count: 2}}\n"
        "  birds: {team: vision}\n"
        "  talks: {team: speech, device: {pool: whole, gpus: 1}}\n"
        "  songs: {team: speech}",
    )
    .replace(
        "geometry: [[1g.18gb, 1g.18gb, 1g.18gb]]",
        "geometry: [[3g.71gb, 1g.18gb, 1g.18gb, 1g.18gb, 1g.18gb]]",
    )
    .replace('mig: {nominal: "0.25"}', 'mig: {nominal: "0.5"}')
)


VIKTOR = Caller(kind="person", name="viktor", groups=("vision",))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path, policy=PINS) as made:
        made.report_devices()
        yield made


def start(site: Site, user: str, profile: str, project: str, server: str = "") -> Grant:
    grant = site.ask(site.asking(user, profile, project=project, server=server))
    site.started(grant)
    return grant


def pins(site: Site) -> list[tuple[str, tuple[str, ...]]]:
    with site.ledger.transaction() as tx:
        events = tx.events(kinds=(PINNED,), after=0, limit=100)
    found = []
    for _seq, event in events:
        devices = event.body["devices"]
        assert isinstance(devices, list)
        found.append((str(event.body["project"]), tuple(str(one["id"]) for one in devices)))
    return found


def test_a_project_gets_its_own_devices_and_others_the_rest(site: Site) -> None:
    first = start(site, "vera", "small", "maps", "a")
    ours = dict(pins(site))["maps"]
    assert first.devices[0].id in ours
    assert len(ours) == 2
    others = [start(site, "viktor", "small", "birds", name) for name in ("a", "b")]
    assert not {one.devices[0].id for one in others} & set(ours)
    with pytest.raises(
        RefusedError,
        match=r"but no room for one 1g.18gb .*: the free devices are 1 x 3g.71gb on node-1",
    ):
        start(site, "viktor", "small", "birds", "c")
    # One of ours is free all the while.
    second = start(site, "vera", "small", "maps", "b")
    assert {first.devices[0].id, second.devices[0].id} == set(ours)


def test_a_project_with_devices_of_its_own_gets_nothing_unlisted(site: Site) -> None:
    with pytest.raises(RefusedError, match="get nothing else") as refused:
        start(site, "vera", "one", "maps")
    assert refused.value.code == "device-pinned"
    assert "Choose one of: MIG." in refused.value.message
    assert start(site, "vera", "cpu", "maps").devices == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_starts_and_restarts_never_cross(site: Site, seed: int) -> None:
    chance = random.Random(seed)
    wishes = [
        ("vera", "small", "maps"),
        ("viktor", "small", "birds"),
        ("sam", "one", "talks"),
        ("sue", "one", "songs"),
        ("viktor", "one", "birds"),
    ]
    running: list[tuple[str, Grant]] = []
    used: dict[str, set[str]] = {"maps": set(), "talks": set()}
    for number in range(100):
        site.later(60)
        if number % 10 == 9:
            site.restart()
        if running and chance.random() < 0.5:
            _project, grant = running.pop(chance.randrange(len(running)))
            site.stop(grant)
            continue
        user, profile, project = chance.choice(wishes)
        with suppress(RefusedError):
            running.append((project, start(site, user, profile, project, f"s{number}")))
            for device in running[-1][1].devices:
                used.setdefault(project, set()).add(device.id)
    ours = dict(pins(site))
    assert len(pins(site)) == 2, "chosen once for each, and never moved"
    for project in ("maps", "talks"):
        assert used[project] <= set(ours[project])
    for project in ("birds", "songs"):
        assert not used[project] & {one for devices in ours.values() for one in devices}
    assert used["maps"], "the story started none"
    assert used["birds"], "the story started none"
    assert verify(site.state / "ledger.sqlite").difference == ""


def test_after_a_new_cut_the_pin_moves_by_an_event(site: Site) -> None:
    site.serve()
    before = dict(pins(site))["maps"]
    devices = [one for one in declared(site.governor.policy) if one.node == "node-1"]
    found = tuple(one for one in devices if one.id not in before)
    tell(site, "node-1", found)
    site.serve()
    after = dict(pins(site))["maps"]
    assert len(pins(site)) == 3
    assert not set(before) & set(after)
    assert set(after) <= {one.id for one in found}


def test_a_silent_machine_keeps_its_pins(site: Site) -> None:
    site.serve()
    before = pins(site)
    site.later(4 * 3600)
    site.serve()
    assert site.governor.inventories(now=site.now) == ()
    assert pins(site) == before


def test_devices_in_others_hands_become_ones_own_as_they_end(site: Site) -> None:
    plain = PINS.replace(", device: {pool: mig, mig: 1g.18gb, count: 2}", "")
    site.governor.set_policy(loads(plain), now=site.now)
    held = [start(site, "viktor", "small", "birds", name) for name in ("a", "b", "c", "d")]
    site.governor.set_policy(loads(PINS), now=site.now)
    site.serve()
    assert dict(pins(site)).get("maps", ()) == ()
    site.stop(held[0])
    site.serve()
    assert dict(pins(site))["maps"] == (held[0].devices[0].id,)
    assert start(site, "vera", "small", "maps").devices == held[0].devices


def test_what_the_policy_gives_up_is_everybodys_again(site: Site) -> None:
    site.serve()
    plain = PINS.replace(", device: {pool: mig, mig: 1g.18gb, count: 2}", "")
    site.governor.set_policy(loads(plain), now=site.now)
    site.serve()
    assert dict(pins(site))["maps"] == ()
    for name in ("a", "b", "c", "d"):
        start(site, "viktor", "small", "birds", name)


def tell(site: Site, node: str, devices: tuple[Device, ...]) -> None:
    """Let the agent of a node tell what it has now."""
    inventory = Inventory(node=node, source="simulated", at=site.now, devices=devices)
    batch = SampleBatch(
        node=node, source="simulated", sent_at=site.now, period_s=3600, inventory=inventory
    )
    site.governor.take_samples(batch, now=site.now)


def test_a_refused_ask_takes_no_record_of_a_choice_back(site: Site) -> None:
    with pytest.raises(RefusedError):
        site.ask(site.asking("nobody", "small"))
    chosen = pins(site)
    assert dict(chosen).keys() == {"maps", "talks"}
    site.restart()
    site.serve()
    assert pins(site) == chosen, "memory and record had not agreed"


def test_more_of_a_gpu_alone_is_refused_and_no_place_in_a_line_for_ever(site: Site) -> None:
    text = PINS.replace("  mig:\n", "  mig:\n    exclusive: [gpu]\n", 1)
    site.governor.set_policy(loads(text), now=site.now)
    asked = site.asking("vera", "small", project="maps")
    alone = asked.model_copy(update={"choice": asked.choice.model_copy(update={"alone": "gpu"})})
    with pytest.raises(RefusedError, match="nor more of a GPU or machine alone"):
        site.ask(alone)


def test_a_reservation_never_gets_anothers_devices() -> None:
    devices = tuple(declared(loads(PINS).policy))
    whole = tuple(one for one in devices if one.pool == "whole")
    owners = {whole[0].id: "talks"}
    assert open_to(whole, "songs", owners) == whole[1:]
    assert open_to(whole, None, owners) == whole[1:]
    assert open_to(whole, "talks", owners) == whole[:1]
    assert open_to(whole, "songs", {}) == whole


def test_what_a_project_could_never_start_is_not_reserved_for_it(site: Site) -> None:
    opened = PINS.replace("  whole:\n", '  whole:\n    reservable: {by: everyone, most: "3"}\n', 1)
    pinned = "  birds: {team: vision, device: {pool: mig, mig: 1g.18gb}}"
    text = opened.replace("  birds: {team: vision}", pinned)
    site.governor.set_policy(loads(text), now=site.now)
    wish = ReservationWish(
        profile=ProfileName("one"),
        project=ProjectName("birds"),
        starts=datetime(2026, 12, 1, 10),  # noqa: DTZ001 - on the clock of the policy's zone
        ends=datetime(2026, 12, 1, 12),  # noqa: DTZ001 - as above
    )
    with pytest.raises(RefusedError, match="has devices of its own") as refused:
        site.governor.reserve(wish, VIKTOR, now=site.now)
    assert refused.value.code == "device-pinned"
