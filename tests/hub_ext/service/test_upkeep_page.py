"""Maintenance and exemptions on the pages: the admin's forms, and what everybody reads of them."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from hub_ext.lease import Actor, LeaseId, Verdict, VerdictState
from hub_ext.policy.load import loads
from hub_ext.service.reclaim.exempting import ExemptionWish
from tests.hub_ext.service.test_pages import Shown, shown, words
from tests.support.governing import POLICY, Site

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
MAINTENANCE = {
    "spot": "node/node-2",
    "start": "2026-12-04T06:00",
    "end": "2026-12-04T10:00",
    "reason": "new disk",
}
EXEMPTION = {
    "subject": "person",
    "name": "vera",
    "until": "2026-12-02T08:00",
    "reason": "waits for the instrument",
}


def send(served: Shown, path: str, token: str, **fields: str) -> tuple[int, str]:
    address = f"/services/gpu-commons/admin/{path}"
    body = urlencode(fields).encode()
    answer = served.runner.run(served.door.call("POST", address, token, body, headers=FORM))
    return answer.code, words(answer)


def site(served: Shown) -> Site:
    return served.door.site


def test_an_admin_announces_maintenance_everybody_reads_it_and_it_is_called_off(
    tmp_path: Path,
) -> None:
    with shown(tmp_path) as served:
        assert 'value="node/node-2"' in served("admin", "admin").body.decode()
        assert send(served, "maintenance", "admin", **MAINTENANCE)[0] == 302
        [planned] = site(served).governor.maintenance(now=site(served).now).announced
        assert (planned.name, planned.by, f"{planned.start:%d %H:%M}") == (
            "node-2",
            "ada",
            "04 06:00",
        )
        page = words(served("admin", "admin"))
        assert "machine node-2" in page
        assert "new disk" in page
        mine = words(served("", "owner"))
        assert "Maintenance of machine node-2 is announced from 2026-12-04 06:00" in mine
        gone = {"id": planned.id, "reason": "no disk"}
        assert send(served, "maintenance/call-off", "admin", **gone)[0] == 302
        assert "None is announced" in words(served("admin", "admin"))
        assert "Announced" not in words(served("", "owner"))


def test_an_admin_exempts_a_person_who_reads_it_and_ends_it(tmp_path: Path) -> None:
    with shown(tmp_path) as served:
        assert send(served, "exemptions", "admin", **EXEMPTION)[0] == 302
        [given] = site(served).governor.exemptions(now=site(served).now).exemptions
        page = words(served("admin", "admin"))
        assert "person vera" in page
        assert "waits for the instrument" in page
        mine = words(served("", "owner"))
        assert "Person vera is exempt from the idle rules until 2026-12-02 08:00" in mine
        assert "waits for the instrument (ada)" in mine
        assert "waits for the instrument" not in words(served("", "teammate"))
        over = {"id": given.id, "reason": "it came"}
        assert send(served, "exemptions/end", "admin", **over)[0] == 302
        assert "Nobody is exempt" in words(served("admin", "admin"))


def test_everybody_whom_an_exemption_covers_reads_of_it(tmp_path: Path) -> None:
    root = Actor(kind="user", name="ada", admin=True)

    def given(site: Site) -> None:
        lease = site.run("vera").lease_id
        for subject, name in (("lease", lease), ("team", "vision"), ("project", "maps")):
            said = {"subject": subject, "name": name, "until": site.now.replace(day=30, hour=23)}
            wanted = ExemptionWish.model_validate(said)
            site.governor.exempt(wanted, reason="a deadline", actor=root, now=site.now)

    with shown(tmp_path, given) as served:
        assert words(served("", "owner")).count("is exempt from the idle rules") == 3
        assert words(served("", "teammate")).count("is exempt from the idle rules") == 2
        assert "is exempt" not in words(served("", "guest"))


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("maintenance", MAINTENANCE),
        ("maintenance/call-off", {"id": "m-1", "reason": "x"}),
        ("exemptions", EXEMPTION),
        ("exemptions/end", {"id": "x-1", "reason": "x"}),
    ],
)
def test_nobody_else_may(tmp_path: Path, path: str, fields: dict[str, str]) -> None:
    with shown(tmp_path) as served:
        for token in ("owner", "lead", "admins-server", "service"):
            assert send(served, path, token, **fields)[0] == 403
        assert site(served).governor.maintenance(now=site(served).now).announced == ()
        assert site(served).governor.exemptions(now=site(served).now).exemptions == ()


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("maintenance", {**MAINTENANCE, "reason": " "}, 400),
        ("maintenance", {**MAINTENANCE, "start": "soon"}, 400),
        ("maintenance", {**MAINTENANCE, "end": "0001-01-01T00:00"}, 400),
        ("maintenance", {**MAINTENANCE, "spot": "planet/mars"}, 400),
        ("maintenance", {**MAINTENANCE, "spot": "node/mars"}, 404),
        ("maintenance", {}, 400),
        ("maintenance/call-off", {"id": "m-1", "reason": "x"}, 404),
        ("exemptions", {**EXEMPTION, "subject": "planet"}, 400),
        ("exemptions", {**EXEMPTION, "name": "v" * 300}, 400),
        ("exemptions", {**EXEMPTION, "until": "9999-12-31T23:59"}, 400),
        ("exemptions", {**EXEMPTION, "subject": "team", "name": "nobodies"}, 404),
        ("exemptions/end", {"id": "x-1", "reason": "x"}, 404),
    ],
)
def test_what_cannot_be_is_answered_in_words(
    tmp_path: Path, path: str, fields: dict[str, str], status: int
) -> None:
    with shown(tmp_path) as served:
        code, said = send(served, path, "admin", **fields)
        assert code == status
        assert len(said.split()) > 20, "a page with words, not a bare error"


def test_an_admin_reads_why_nobody_is_stopped_as_idle_and_lets_it_go_on(tmp_path: Path) -> None:
    with shown(tmp_path) as served:
        assert "Nobody is stopped as idle" not in words(served("admin", "admin"))
        fallen = dict.fromkeys((LeaseId(f"l-{number}") for number in range(6)), site(served).now)
        site(served).governor.weigh_idleness(frozenset(fallen), fallen, now=site(served).now)
        page = words(served("admin", "admin"))
        assert "Nobody is stopped as idle" in page
        assert "6 of 6 servers with a GPU turned idle together" in page
        assert send(served, "idle/release", "admin")[0] == 400
        assert send(served, "idle/release", "owner", reason="mine")[0] == 403
        assert send(served, "idle/release", "admin", reason="network mended")[0] == 302
        assert "Nobody is stopped as idle" not in words(served("admin", "admin"))


def test_an_admin_reads_whom_a_new_rule_would_stop_and_switches_it_on(tmp_path: Path) -> None:
    tried = POLICY.replace("limit: 10m", "limit: 20m").replace("trial: 0s", "trial: 2d")
    with shown(tmp_path) as served:
        assert "Idle rules on trial" not in words(served("admin", "admin"))
        site(served).governor.set_policy(loads(tried), now=site(served).now)
        lease = site(served).lease(site(served).run("vera", "one"))
        verdict = Verdict(
            state=VerdictState.idle,
            rule="gpus",
            at=site(served).now,
            quiet_since=site(served).now,
            limit_s=1200,
            words="Idle: quiet for 21m.",
        )
        site(served).governor.would_stop(lease, "gpus", verdict, now=site(served).now)
        page = words(served("admin", "admin"))
        assert "Idle rules on trial" in page
        assert "limit: 10m -> 20m" in page
        assert "It would have stopped 1 server, and given back" in page
        assert "Idle: quiet for 21m." in page
        said = {"rule": "gpus", "reason": "agreed"}
        assert send(served, "idle/switch-on", "owner", **said, early="yes")[0] == 403
        assert send(served, "idle/switch-on", "admin", **said)[0] == 409
        assert send(served, "idle/switch-on", "admin", rule="gpus", early="yes")[0] == 400
        assert send(served, "idle/switch-on", "admin", **said, early="yes")[0] == 302
        assert "Idle rules on trial" not in words(served("admin", "admin"))
        assert site(served).governor.policy.idle["gpus"].limit == timedelta(minutes=20)
