"""Starts on one real hub 6.1 that would exit after five failures: granted, refused, in parallel.

JupyterLab's place is taken by a tiny server, so that fifty people fit on two cores.
"""

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hub_ext.lease import LeaseState, Standing
from tests.e2e.rules import write_rules
from tests.support.hub import RealHub, governed
from tests.support.web import call

pytestmark = [pytest.mark.hub, pytest.mark.timeout(420)]

CROWD = [f"person-{number:02}" for number in range(1, 51)]
GROUPS = {"vision": ["ada", "ben", *CROWD], "language": ["cleo"]}
SMALL = {"profile": "small"}
ROOM = 3
TYPES = {
    "training": {"title": "Training", "weight": 500, "groups": ["vision"]},
    "trial": {"title": "Trial", "weight": 100},
}


@pytest.fixture(scope="module")
def shared_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    folder = tmp_path_factory.mktemp("starts")
    policy = write_rules(folder / "policy.yaml", task_types=TYPES)
    extra = governed(policy, folder / "hub/state") + "c.Spawner.consecutive_failure_limit = 5\n"
    with RealHub.running(folder / "hub", extra=extra, groups=GROUPS, tiny=True) as hub:
        hub.wait(hub.healthy, "the governor and its agent")
        hub.add_users("eve")
        yield hub


@pytest.fixture
def hub(shared_hub: RealHub) -> Iterator[RealHub]:
    """Give the hub to one story, and empty it afterwards."""
    yield shared_hub
    for lease in shared_hub.leases().values():
        shared_hub.stop(lease.key.user, lease.key.server)
    shared_hub.wait(lambda: not shared_hub.leases(), "all leases to close")
    assert shared_hub.held_devices() == []


def test_a_start_within_quota_runs_with_the_device_that_was_granted(hub: RealHub) -> None:
    ada = hub.person("ada")
    assert "Small slice" in ada.get("/hub/spawn/ada").text
    assert ada.spawn({"profile": "small"}).status == 200
    hub.wait(lambda: hub.ready("ada"), "ada's server")
    hub.wait(lambda: _running(hub) == 1, "the report of the start")
    lease = hub.leases()["ada/"]
    assert (lease.team, lease.standing) == ("vision", Standing.guaranteed)
    given = ada.get("/user/ada/environ").json
    assert given["CUDA_VISIBLE_DEVICES"] == lease.devices[0].id
    assert given["NVIDIA_VISIBLE_DEVICES"] == lease.devices[0].id
    assert given["GPU_COMMONS_LEASE_ID"] == lease.id
    assert lease.process is not None
    assert lease.process.pid == given["pid"]
    assert hub.held_devices() == [lease.devices[0].id]


def test_a_server_reaches_its_own_lease_with_its_own_token_and_no_other(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    hub.start_server("ben", SMALL)
    given = hub.person("ada").get("/user/ada/environ").json
    api, token = given["GPU_COMMONS_API_URL"], given["JUPYTERHUB_API_TOKEN"]
    own = call("GET", f"{api}/servers/ada/-/lease", token=token)
    assert own.json["lease"]["key"]["user"] == "ada"
    assert own.json["can_stop"] is True
    others = hub.leases()["ben/"].id
    assert call("GET", f"{api}/servers/ben/-/lease", token=token).status == 404
    assert call("POST", f"{api}/leases/{others}/stop", token=token, body={}).status == 404
    assert call("POST", f"{api}/attempts", token=token, body={}).status == 403
    stop = call("POST", f"{api}/leases/{own.json['lease']['id']}/stop", token=token, body={})
    assert stop.status == 202
    hub.wait(lambda: "ada/" not in hub.leases(), "ada's server to stop itself")
    assert set(hub.leases()) == {"ben/"}


def test_a_profile_without_a_gpu_hides_every_device(hub: RealHub) -> None:
    hub.start_server("ada", {"profile": "plain"})
    given = hub.person("ada").get("/user/ada/environ").json
    assert given["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert given["CUDA_VISIBLE_DEVICES"] in {"", "-1", "void"}
    assert hub.held_devices() == []


def test_a_denied_start_says_why_on_the_form_and_in_json(hub: RealHub) -> None:
    hub.start_server("cleo", SMALL)
    answer = hub.spawn("cleo", SMALL, "second")
    assert answer.status == 403
    words = answer.json["message"]
    assert "language" in words
    cleo = hub.person("cleo")
    form = cleo.spawn(SMALL, "second")
    assert words.split(".")[0] in form.text
    assert not hub.ready("cleo", "second")
    closed = [body["lease"]["cause"] for _, _, body in hub.events("lease.closed")]
    assert closed.count("denied") >= 2
    assert set(hub.leases()) == {"cleo/"}


def test_somebody_without_a_team_is_told_so(hub: RealHub) -> None:
    answer = hub.spawn("eve", SMALL)
    assert answer.status == 403
    assert "team" in answer.json["message"]


def test_a_start_that_would_wait_is_refused_with_figures(hub: RealHub) -> None:
    for name in ("ada", "ben", "person-01"):
        hub.start_server(name, SMALL)
    assert hub.leases()["person-01/"].standing is Standing.borrowed
    answer = hub.spawn("person-02", SMALL)
    assert answer.status == 409
    assert int(answer.headers["retry-after"]) > 0
    assert re.search(r"\d", answer.json["message"]), answer
    hub.stop_server("ada")
    hub.wait(lambda: "ada/" not in hub.leases(), "ada's lease to close")
    hub.start_server("person-02", SMALL)


RUBBISH: list[tuple[Any, int]] = [
    ({"profile": "nonsense"}, 400),
    ({"profile": ["small"]}, 400),
    ({"profile": {"a": 1}}, 400),
    ({"profile": "small", "team": "language"}, 403),
    ({"profile": "small", "project": "none"}, 403),
    ({"profile": "small", "lifetime": "a while"}, 400),
    ({"profile": "small", "lifetime": -1}, 400),
    ({"profile": "small", "lifetime": "9" * 5000}, 400),
    ({"profile": "small", "gpus": 8}, 400),
    ({"profile": "../../etc/passwd"}, 400),
    ({"profile": "<script>alert(1)</script>"}, 400),
    ({"profile": "small\x00"}, 400),
    ({"lease_id": "l-1", "attempt_id": "x" * 5000}, 400),
    (["small"], 400),
    ("small", 400),
    (7, 400),
]


def test_rubbish_by_rest_gets_a_clear_answer_and_starts_nothing(hub: RealHub) -> None:
    for options, status in RUBBISH:
        answer = hub.spawn("ada", options)
        assert (answer.status, options) == (status, options), answer
        words = answer.json["message"]
        assert 20 < len(words) < 1500, words
        assert "Traceback" not in words
        assert "pydantic" not in words.lower()
    for raw in (b"{", b"\xff\xfe", b"[" * 2000):
        answer = call("POST", f"{hub.url}/hub/api/users/ada/server", token="t" * 48, body=raw)
        assert 400 <= answer.status < 500, answer
    assert not hub.ready("ada")
    assert hub.alive()
    assert hub.spawn_errors() == {}
    hub.start_server("ada", SMALL)


def test_what_a_server_is_for_is_said_on_the_form_and_by_rest(hub: RealHub) -> None:
    ada = hub.person("ada")
    form = ada.get("/hub/spawn/ada").text
    assert "What it is for" in form
    assert '<option value="training">Training</option>' in form
    assert "Training" not in hub.person("cleo").get("/hub/spawn/cleo").text
    hub.start_server("ada", {**SMALL, "task_type": "training"})
    assert hub.leases()["ada/"].task_type == "training"
    assert ada.spawn({**SMALL, "task_type": "trial"}, "second").status == 200
    hub.wait(lambda: hub.ready("ada", "second"), "ada's second server")
    assert hub.leases()["ada/second"].task_type == "trial"
    refused = hub.spawn("cleo", {**SMALL, "task_type": "training"})
    assert refused.status == 403
    assert "You can choose: 'trial'." in refused.json["message"]


def test_who_would_rather_wait_than_borrow_is_told_so(hub: RealHub) -> None:
    for name in ("ada", "ben"):
        hub.start_server(name, SMALL)
    answer = hub.spawn("person-03", {**SMALL, "borrow": "no"})
    assert answer.status == 409
    assert "You chose to wait for the guarantee" in answer.json["message"]
    hub.start_server("person-03", SMALL)
    assert hub.leases()["person-03/"].standing is Standing.borrowed


def test_named_servers_have_leases_of_their_own(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    hub.start_server("ada", SMALL, "second")
    hub.start_server("ada", {"profile": "plain"}, "third")
    assert set(hub.leases()) == {"ada/", "ada/second", "ada/third"}
    assert len(set(hub.held_devices())) == 2
    hub.stop_server("ada", "second")
    hub.wait(lambda: "ada/second" not in hub.leases(), "the second lease to close")
    assert set(hub.leases()) == {"ada/", "ada/third"}
    assert hub.rest("DELETE", "/users/ada/servers/third", {"remove": True}).status in {202, 204}
    hub.wait(lambda: "ada/third" not in hub.leases(), "the third lease to close")


def test_twenty_refusals_in_a_row_leave_the_hub_up(hub: RealHub) -> None:
    for number in range(20):
        options = SMALL if number % 2 else {"profile": "nonsense"}
        answer = hub.spawn("eve", options)
        assert 400 <= answer.status < 500, answer
    assert hub.alive()
    assert hub.spawn_errors() == {}
    assert "consecutive spawn" not in hub.output()
    hub.start_server("ada", SMALL)


def test_fifty_parallel_requests_by_fifty_people_run_exactly_three(hub: RealHub) -> None:
    before = len(hub.events())
    with ThreadPoolExecutor(len(CROWD)) as pool:
        answers = list(pool.map(lambda name: hub.spawn(name, SMALL), CROWD))
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {201, 202, 409, 429}, statuses
    hub.wait(lambda: all(hub.settled(name) for name in CROWD), "all starts to settle", seconds=120)
    hub.wait(lambda: _running(hub) == ROOM, f"{ROOM} running leases")
    by_ledger = {key.removesuffix("/") for key in hub.leases()}
    by_hub = {name for name in CROWD if hub.ready(name)}
    assert by_ledger == by_hub
    assert len(by_hub) == ROOM
    assert len(set(hub.held_devices())) == ROOM
    assert _most_at_once(hub, before) == ROOM
    assert hub.spawn_errors() == {}
    assert hub.alive()


def _running(hub: RealHub) -> int:
    return sum(lease.state is LeaseState.running for lease in hub.leases().values())


def _most_at_once(hub: RealHub, since: int) -> int:
    """Most devices that were held at the same time, by the ledger's own lines."""
    holding: dict[str, int] = {}
    most = 0
    for kind, lease_id, body in hub.events()[since:]:
        if kind.startswith("lease.") and lease_id is not None:
            state = LeaseState(body["lease"]["state"])
            holds = state not in {LeaseState.requested, LeaseState.closed}
            holding[lease_id] = len(body["lease"]["devices"]) if holds else 0
            most = max(most, sum(holding.values()))
    return most


def test_the_ledger_of_all_this_can_be_rebuilt(shared_hub: RealHub, tmp_path: Path) -> None:
    done = shared_hub.command("ledger", "verify", "--state", str(shared_hub.state))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("ok: ")
