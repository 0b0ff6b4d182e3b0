"""What dies or misbehaves on one real hub, and what the ledger, hub and machine say afterwards."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.e2e.faulty import PEOPLE, ROOM, SMALL, agreed, lives, nothing_is_left, servers
from tests.e2e.rules import RULES, write_rules
from tests.support.hub import RealHub, governed
from tests.support.web import call

pytestmark = [pytest.mark.hub, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def shared_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    folder = tmp_path_factory.mktemp("faults")
    policy = write_rules(folder / "policy.yaml")
    extra = governed(policy, folder / "hub/state") + "c.Spawner.consecutive_failure_limit = 5\n"
    groups = {"vision": PEOPLE}
    with RealHub.running(folder / "hub", extra=extra, groups=groups, tiny=True) as hub:
        hub.wait(hub.healthy, "the governor and its agent")
        yield hub


@pytest.fixture
def hub(shared_hub: RealHub) -> Iterator[RealHub]:
    """Give the hub to one story; afterwards nothing may be held and the ledger must be right."""
    yield shared_hub
    nothing_is_left(shared_hub)


def policy_file(hub: RealHub) -> Path:
    return hub.folder.parent / "policy.yaml"


def server_of(hub: RealHub, user: str) -> psutil.Process:
    process = hub.leases()[f"{user}/"].process
    assert process is not None
    return psutil.Process(process.pid)


def complaints(hub: RealHub) -> set[str]:
    """What the governor finds wrong."""
    told = call("GET", f"{hub.url}/services/gpu-commons/healthz").json
    return {problem["code"] for problem in told["problems"]}


def kill_governor(hub: RealHub) -> None:
    governor = hub.service("governor")
    assert governor is not None
    governor.kill()
    hub.wait(lambda: not hub.healthy(), "the governor to be gone")


def test_a_governor_that_is_killed_comes_back_and_finds_everything(hub: RealHub) -> None:
    hub.person("ben").get("/hub/spawn/ben")
    hub.start_server("ada", SMALL)
    hub.wait(lambda: agreed(hub), "ada's start to be reported")
    before = hub.leases()["ada/"]
    kill_governor(hub)
    refused = hub.spawn("cora", SMALL)
    assert 400 <= refused.status < 500
    assert "GPU" in refused.json["message"]
    hub.start_server("ben", {"profile": "plain"})
    assert hub.ready("ada")
    hub.wait(hub.healthy, "the hub to start the governor again")
    hub.wait(lambda: "ben/" in hub.leases(), "ben's server to be recorded afterwards")
    hub.wait(lambda: agreed(hub), "everybody to agree")
    after = hub.leases()["ada/"]
    assert (after.id, after.devices, after.started_at) == (
        before.id,
        before.devices,
        before.started_at,
    )
    assert hub.spawn_errors() == {}


def test_a_governor_that_is_killed_in_the_middle_grants_nothing_twice(hub: RealHub) -> None:
    governor = hub.service("governor")
    assert governor is not None
    with ThreadPoolExecutor(len(PEOPLE) + 1) as pool:
        starts = [pool.submit(hub.spawn, name, SMALL) for name in PEOPLE]
        time.sleep(0.3)
        governor.kill()
        answers = [start.result() for start in starts]
    assert all(answer.status in {201, 202, 409, 429} for answer in answers), answers
    hub.wait(hub.healthy, "the hub to start the governor again")
    hub.wait(lambda: all(hub.settled(name) for name in PEOPLE), "all starts to settle")
    hub.wait(lambda: agreed(hub), "everybody to agree")
    assert len(hub.leases()) <= ROOM
    assert len(servers(hub)) == len(hub.leases()) == len(set(hub.held_devices()))
    assert hub.spawn_errors() == {}


def test_a_second_governor_exits_and_the_first_goes_on(hub: RealHub) -> None:
    first = hub.service("governor")
    assert first is not None
    hub.start_server("ada", SMALL)
    environment = {**first.environ(), "GPU_COMMONS_TAKEOVER_S": "0.5"}
    pid = hub.launch(
        str(hub.python), "-P", "-m", "hub_ext", "governor", output="second.out", **environment
    )
    hub.wait(lambda: not lives(pid), "the second governor to end")
    told = (hub.folder / "second.out").read_text()
    assert str(first.pid) in told, told
    assert "Traceback" not in told
    present = hub.service("governor")
    assert present is not None
    assert present.pid == first.pid
    assert hub.healthy()
    hub.start_server("ben", SMALL)


def test_a_policy_edited_to_nonsense_keeps_the_old_one_until_it_is_mended(hub: RealHub) -> None:
    health = f"{hub.url}/services/gpu-commons/healthz"
    generation = call("GET", health).json["policy_generation"]
    file = policy_file(hub)
    hub.start_server("ada", SMALL)
    try:
        for nonsense in ("version: 1\npools: [", "nonsense: true\n", "", "\x00\xff"):
            file.write_text(nonsense)
            hub.wait(lambda: "policy" in complaints(hub), "the governor to complain")
            told = call("GET", health).json
            assert (told["status"], told["policy_generation"]) == ("degraded", generation)
            write_rules(file)
            hub.wait(hub.healthy, "the governor to be content")
        file.write_text("version: 1\nteams: nobody\n")
        hub.wait(lambda: "policy" in complaints(hub), "the governor to complain")
        hub.start_server("ben", SMALL)
        assert hub.ready("ada")
        profiles = {**RULES["profiles"], "tiny": {**RULES["profiles"]["plain"], "title": "Tiny"}}
        write_rules(file, profiles=profiles)
        hub.wait(hub.healthy, "the governor to take the mended file")
        assert call("GET", health).json["policy_generation"] == generation + 1
        hub.start_server("cora", {"profile": "tiny"})
        kinds = [kind for kind, _, _ in hub.events("policy.refused", "policy.applied")]
        assert kinds[-1] == "policy.applied"
        assert kinds.count("policy.refused") >= 5
    finally:
        write_rules(file)
        hub.wait(hub.healthy, "the old policy to be back")


def test_a_hub_that_is_killed_finds_its_servers_and_leases_again(hub: RealHub) -> None:
    for name in ("ada", "ben"):
        hub.start_server(name, SMALL)
    hub.wait(lambda: agreed(hub), "both starts to be reported")
    leases = {key: lease.id for key, lease in hub.leases().items()}
    lost, first = server_of(hub, "ben"), hub.service("governor")
    assert first is not None
    hub.end(signal.SIGKILL)
    hub.wait(lambda: not lives(first.pid), "the governor to follow its hub", seconds=10)
    lost.kill()
    hub.start()
    hub.wait(hub.healthy, "the governor and its agent")
    hub.wait(lambda: "ben/" not in hub.leases(), "ben's lease to close")
    assert hub.leases()["ada/"].id == leases["ada/"]
    hub.wait(lambda: agreed(hub), "everybody to agree")
    ended = [
        body["lease"] for _, lease, body in hub.events("lease.closed") if lease == leases["ben/"]
    ]
    assert [one["cause"] for one in ended] in (["lost"], ["failed"])
    assert ended[0]["last_seen_at"] <= ended[0]["state_since"]


def test_an_idle_server_is_told_and_stopped_through_the_hub(hub: RealHub) -> None:
    quick = {"applies": ["mig"], "limit": "6s", "notice": "3s", "start_grace": "1s"}
    file = policy_file(hub)
    hub.start_server("ada", SMALL)
    lease = hub.leases()["ada/"]
    try:
        write_rules(file, idle={"quick": quick})
        hub.wait(lambda: "ada/" not in hub.leases(), "the idle server to be stopped")
    finally:
        write_rules(file)
    assert not hub.ready("ada")
    kinds = [kind for kind, lease_id, _ in hub.events() if lease_id == lease.id]
    wanted = ["verdict.changed", "notice.given", "lease.stopping", "lease.closed"]
    assert [kind for kind in kinds if kind in wanted][-4:] == wanted
    shown = hub.api("GET", "/servers/ada/-/lease").json
    assert shown["lease"] is None
    assert shown["ended"]["cause"] == "culled"
    assert "free its GPU" in shown["ended"]["reason"]["message"]


def test_nothing_of_a_hub_lives_on_when_it_is_ended(tmp_path: Path) -> None:
    policy = write_rules(tmp_path / "policy.yaml")
    with RealHub.running(
        tmp_path / "hub",
        extra=governed(policy, tmp_path / "hub/state"),
        groups={"vision": ["ada"]},
        tiny=True,
    ) as hub:
        hub.wait(hub.healthy, "the governor and its agent")
        hub.start_server("ada", SMALL)
        everything = [process for process in hub.processes() if process.pid != os.getpid()]
        assert len(everything) >= 5
        hub.end(signal.SIGTERM)
        hub.wait(lambda: not [one for one in everything if lives(one.pid)], "everything to end")
