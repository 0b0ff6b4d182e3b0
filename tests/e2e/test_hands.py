"""An administrator's hands on a real hub: through its governor, and with both of them dead."""

import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from hub_ext.commands.onsite import actor
from hub_ext.lease import LeaseState
from tests.e2e.rules import write_rules
from tests.support.hub import RealHub, governed

pytestmark = [pytest.mark.hub, pytest.mark.timeout(300)]

SMALL = {"profile": "small"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    folder = tmp_path_factory.mktemp("hands")
    extra = governed(write_rules(folder / "policy.yaml"), folder / "hub/state")
    groups = {"vision": ["ada", "ben"], "language": ["cleo"]}
    with RealHub.running(folder / "hub", extra=extra, groups=groups, tiny=True) as running:
        running.wait(running.healthy, "the governor and its agent")
        running.add_users("ada", "ben", "cleo")
        yield running


def lease(hub: RealHub, *words: str, status: int = 0) -> str:
    done = hub.command("lease", *words, "--state", str(hub.state))
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def by_hand(hub: RealHub) -> list[tuple[str, object]]:
    kinds = ("admin.close", "admin.force_release", "admin.move", "admin.grant")
    return [(kind, body["reason"]) for kind, _lease, body in hub.events(*kinds)]


def test_the_governor_acts_where_it_lives_and_names_who_asked(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.running, "ada's server")
    lease_id = hub.leases()["ada/"].id
    assert lease_id in lease(hub, "list")
    said = lease(hub, "force-release", lease_id, "--reason", "hurry", status=1)
    assert "still runs on this machine" in said
    said = lease(hub, "move", lease_id, "--team", "language", "--reason", "their week")
    assert "language's from now on" in said
    assert hub.leases()["ada/"].team == "language"
    said = lease(hub, "close", lease_id, "--reason", "maintenance")
    hub.wait(lambda: not hub.leases(), "the lease to close")
    hub.wait(lambda: not hub.ready("ada"), "the server to end")
    shown = lease(hub, "show", lease_id)
    assert f"{actor().name} (cli): maintenance" in shown
    assert "stopped the server: maintenance" in shown
    assert by_hand(hub) == [("admin.move", "their week"), ("admin.close", "maintenance")]


def gpu_commons(hub: RealHub, *words: str) -> str:
    done = hub.command(*words, "--state", str(hub.state))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_maintenance_and_a_drain_reach_who_is_there_and_who_comes(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.running, "ada's server")
    start = f"{datetime.now(UTC) + timedelta(minutes=30):%Y-%m-%dT%H:%MZ}"
    why = ("--reason", "new cables")
    said = gpu_commons(
        hub, "maintenance", "announce", "node", "localhost", "--from", start, "--for", "1h", *why
    )
    announced = said.splitlines()[1].split()[0]
    hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.noticed, "ada to be told")
    notice = hub.leases()["ada/"].notice
    assert notice is not None
    assert f"{notice.stops_at:%Y-%m-%dT%H:%MZ}" == start
    assert "Maintenance of machine localhost" in notice.reason.message
    hub.start_server("ben", SMALL)
    assert hub.leases()["ben/"].ends_at == notice.stops_at
    hub.stop("ben")
    gpu_commons(hub, "maintenance", "call-off", announced, "--reason", "they are late")
    hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.running, "the notice to go")

    gpu_commons(hub, "device", "drain", "node", "localhost", "--after", "1h", *why)
    assert "held, drained" in gpu_commons(hub, "device", "list")
    refused = hub.spawn("ben", SMALL)
    assert refused.status == 409
    assert "new cables" in refused.json["message"]
    gpu_commons(hub, "device", "lift", "node", "localhost", "--reason", "done")
    assert "person ada" in gpu_commons(hub, "exempt", "add", "person", "ada", "--for", "1h", *why)
    lease_id = hub.leases()["ada/"].id
    gpu_commons(hub, "lease", "extend", lease_id, "--by", "3d", "--reason", "a long fit")
    hub.stop("ada")
    hub.wait(lambda: not hub.leases(), "all leases to close")


def test_the_token_of_the_command_reaches_the_governor_and_nothing_else(hub: RealHub) -> None:
    token = (hub.state / "tokens/cli").read_text()
    assert hub.api("GET", "/leases", token=token).status == 200
    assert hub.rest("GET", "/users", token=token).status == 403
    assert hub.rest("POST", "/users/ada/server", token=token).status == 403
    assert hub.api("POST", "/samples", {}, token=token).status == 403
    assert hub.api("POST", "/attempts", {}, token=token).status == 403


def test_the_doctor_finds_a_hub_that_is_well_and_names_what_is_not(hub: RealHub) -> None:
    done = hub.command("doctor", "--state", str(hub.state))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.split()[1] for line in done.stdout.splitlines()} == {
        "hub", "settings", "packages", "state", "tokens",
        "governor", "proxy", "clock", "ledger", "policy", "kueue",
        "readings", "notices",
    }  # fmt: skip
    assert "4 tokens are private, and the hub takes them" in done.stdout
    assert "the governor answers through the proxy at" in done.stdout
    assert "the clocks agree" in done.stdout
    file = hub.state / "tokens/cli"
    token = file.read_text()
    try:
        file.write_text("0" * 64)
        done = hub.command("doctor", "--state", str(hub.state), "--url", f"{hub.url}/nowhere")
        assert done.returncode == 1
        assert "the hub answers 403 to the token cli" in done.stdout
        assert "/nowhere answers" in done.stdout
        assert token not in done.stdout
    finally:
        file.write_text(token)


def test_with_hub_and_governor_dead_the_command_acts_in_their_place(hub: RealHub) -> None:
    hub.start_server("ben", SMALL)
    hub.wait(lambda: hub.leases()["ben/"].state is LeaseState.running, "ben's server")
    held = hub.leases()["ben/"]
    assert held.process is not None
    hub.end(signal.SIGKILL)
    hub.wait(lambda: hub.service("governor") is None, "the governor to leave with its hub")
    said = lease(hub, "close", held.id, "--reason", "both are dead")
    assert "No governor lives; this was recorded in its place." in said
    assert "keeps its devices" in said
    server = psutil.Process(held.process.pid)
    server.kill()
    hub.wait(lambda: not server.is_running() or server.status() == "zombie", "the server to end")
    assert "is closed" in lease(hub, "close", held.id, "--reason", "its process is gone")
    verified = hub.command("ledger", "verify", "--state", str(hub.state))
    assert verified.returncode == 0, verified.stdout
    assert "no lease is open" in lease(hub, "list")

    hub.start()
    hub.wait(hub.healthy, "the governor to be back")
    assert hub.leases() == {}
    assert hub.held_devices() == []


def test_a_policy_goes_back_under_a_living_governor(hub: RealHub, tmp_path: Path) -> None:
    file = hub.folder.parent / "policy.yaml"
    first = file.read_text()
    write_rules(file, modes={"quota": "observe", "idle": "enforce"})

    def policy(*words: str) -> str:
        done = hub.command("policy", *words, "--state", str(hub.state))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    hub.wait(lambda: "modes.quota: enforce -> observe" in policy("history"), "generation 2")
    said = policy("rollback", "1", "--reason", "not yet")
    assert "generation 3 is in force" in said
    assert file.read_text() == first
    assert f"{actor().name}\n      back to generation 1: not yet" in policy("history")
