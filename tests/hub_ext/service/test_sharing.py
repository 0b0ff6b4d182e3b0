"""Shares, moves and limits on a real ledger: recorded, in force on their day, kept by a restart."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, MoveSheet, PoolName
from hub_ext.policy.load import loads
from hub_ext.service.books.moving import MOVED, WantedMove
from hub_ext.units import UNITS_PER_GPU
from tests.support.governing import POLICY, Site, site_in
from tests.support.pools import person

LENA = Actor(kind="user", name="lena")
SHARED = (
    POLICY.replace(
        "  maps: {team: vision}\n",
        "  maps: {team: vision, quota: {whole: {nominal: '1'}}}\n"
        "  birds: {team: vision, most_leases: 2}\n",
    )
    .replace(
        "prices:",
        "task_types:\n"
        "  training: {title: Training, weight: 500, flavors: [gpu]}\n"
        "  service: {title: Service, teams: [speech], idle: calm, long_running: true}\n"
        "prices:",
    )
    .replace(
        "notice: {lifetime",
        "  calm: {applies: [], limit: 7d, notice: 1h, trial: 0s}\nnotice: {lifetime",
    )
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path) as made:
        made.governor.set_policy(loads(SHARED), now=made.now)
        yield made


def moved(site: Site, gpus: int = 1, **more: Any) -> MoveSheet:
    """Lena moves GPUs from maps to birds."""
    wanted = WantedMove.model_validate(
        {
            "pool": "whole",
            "from_project": "maps",
            "to_project": "birds",
            "units": gpus * UNITS_PER_GPU,
            **more,
        }
    )
    return site.governor.move_quota("vision", wanted, reason="a deadline", actor=LENA, now=site.now)


def shares(sheet: MoveSheet) -> dict[tuple[str | None, str], int]:
    """Whole GPUs by project."""
    return {
        (one.project, one.pool): one.units // UNITS_PER_GPU for one in sheet.shares if one.units
    }


def test_a_lead_moves_quota_and_the_ledger_says_who_and_why(site: Site) -> None:
    sheet = moved(site)
    assert shares(sheet)["birds", "whole"] == 1
    assert ("maps", "whole") not in shares(sheet)
    (row,) = sheet.moves
    assert (row.state, row.move.by, row.move.reason) == ("in force", "lena", "a deadline")
    with site.governor._desk.ledger.transaction() as tx:
        ((_seq, event),) = tx.events(kinds=(MOVED,))
    assert event.actor == LENA
    assert event.body["move"] == row.move.model_dump(mode="json")


def test_decisions_see_the_policy_with_the_moves_in_it(site: Site) -> None:
    moved(site)
    with site.governor._desk.turn(site.now) as turn:
        seen = turn.snapshot().policy
        assert turn.snapshot().policy is seen
    assert seen.projects["birds"].quota[PoolName("whole")].nominal == UNITS_PER_GPU
    assert seen.projects["maps"].quota[PoolName("whole")].nominal == 0


def test_moves_outlive_a_restart_and_end_on_their_day(site: Site) -> None:
    moved(site, until=(site.now + timedelta(days=1)).date())
    site.restart()
    site.governor.set_policy(loads(SHARED), now=site.now)
    assert shares(site.governor.moves("vision", now=site.now))["birds", "whole"] == 1
    site.now += timedelta(days=1)
    sheet = site.governor.moves("vision", now=site.now)
    assert sheet.moves[0].state == "over"
    assert shares(sheet)["maps", "whole"] == 1


def test_a_policy_that_takes_the_share_away_makes_the_move_void(site: Site) -> None:
    moved(site)
    site.governor.set_policy(loads(SHARED.replace("nominal: '1'", "nominal: '0'")), now=site.now)
    (row,) = site.governor.moves("vision", now=site.now).moves
    assert row.state == "void"
    assert "has 0 GPU of pool 'whole' then" in row.words


@pytest.mark.parametrize(
    ("wish", "code", "words"),
    [
        ({"units": 2 * UNITS_PER_GPU}, "cannot-move", "has 1 GPU of pool 'whole'"),
        ({"units": 0}, "moves-nothing", "Name two"),
        ({"to_project": "maps"}, "moves-nothing", "Name two"),
        ({"to_project": "voices"}, "cannot-move", "no project 'voices'"),
        ({"first_day": "2026-11-29"}, "bad-days", "from today (2026-11-30)"),
        ({"until": "2026-11-30"}, "bad-days", "ends after that"),
    ],
)
def test_what_cannot_be_moved_is_refused_and_nothing_is_recorded(
    site: Site, wish: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        moved(site, **wish)
    assert caught.value.code == code
    assert words in caught.value.message
    assert site.governor.moves("vision", now=site.now).moves == ()


def test_a_team_that_is_not_there_has_no_moves(site: Site) -> None:
    with pytest.raises(RefusedError, match="no team 'sky'"):
        site.governor.moves("sky", now=site.now)


def test_my_limits_name_every_rule_with_its_place_and_mode(site: Site) -> None:
    site.run("vera", "one")
    sheet = site.governor.limits(person("vera", "vision"), now=site.now)
    said = {(one.subject, one.origin): one for one in sheet.limits}
    quota = said["quota", "teams.vision.quota.whole"]
    assert quota.words == (
        "Pool whole: 1 GPU guaranteed, 1 GPU held now; beyond that it borrows up to 1 GPU; "
        "others may use all of it meanwhile."
    )
    assert quota.in_force == "enforce"
    assert "50m (30m + 15m + 5m)" in said["contract", "pools.whole.reclaim"].words
    assert said["caps", "projects.birds.most_leases"].words.startswith("Project birds: 2 servers")
    assert said["task types", "task_types.training"].words.startswith("Training: weight 500")
    assert ("task types", "task_types.service") not in said
    assert said["prices", "prices"].words.endswith("an hour.")
    assert {"quota", "contract", "caps", "lifetime", "task types", "waiting", "idle", "prices"} == {
        one.subject for one in sheet.limits
    }
    assert "a GPU is held for 5m" in said["waiting", "notice.hold"].words


def test_what_may_be_reserved_is_among_my_limits(site: Site) -> None:
    with_rights = SHARED.replace(
        "nodes: [{name: node-2, gpus: 3}]",
        "nodes: [{name: node-2, gpus: 3}]\n"
        "    reservable: {by: leads, most: '2'}\n    exclusive: [gpu, node]",
    )
    site.governor.set_policy(loads(with_rights), now=site.now)
    words = {
        user: [
            one.words
            for one in site.governor.limits(person(user, "vision"), now=site.now).limits
            if one.subject == "reservations"
        ]
        for user in ("vera", "lena")
    }
    assert words["vera"][0].startswith("Pool whole: the leads of your team may reserve, 2 GPUs")
    assert words["lena"][0].startswith("Pool whole: you may reserve, 2 GPUs")
    assert words["vera"][1] == "Pool whole: a project may have a whole gpu or node alone."


def test_a_move_is_in_my_limits(site: Site) -> None:
    moved(site)
    words = [
        one.words for one in site.governor.limits(person("vera", "vision"), now=site.now).limits
    ]
    assert "Project birds has 1 GPU of it in pool whole, 0 GPUs held now." in words


def test_who_is_in_no_team_has_no_limits(site: Site) -> None:
    sheet = site.governor.limits(person("ghost"), now=site.now)
    assert sheet.teams == ()
    assert {one.subject for one in sheet.limits} == {"idle"}
