"""The same hub side on JupyterHub 5.5.4, which counts every refusal as a failure of its own."""

from collections.abc import Iterator

import pytest

from hub_ext.lease import LeaseState
from tests.e2e.rules import write_rules
from tests.support.hub import HUB55, RealHub, governed
from tests.support.web import call

pytestmark = [
    pytest.mark.hub,
    pytest.mark.hub55,
    pytest.mark.timeout(420),
    pytest.mark.skipif(not HUB55.exists(), reason="`make test` installs JupyterHub 5.5.4"),
]

SMALL = {"profile": "small"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    folder = tmp_path_factory.mktemp("hub55")
    policy = write_rules(folder / "policy.yaml")
    # The chart's limit, which configure() has to overrule.
    extra = "c.Spawner.consecutive_failure_limit = 5\n" + governed(policy, folder / "hub/state")
    groups = {"vision": ["ada", "ben"], "language": ["cleo"]}
    with RealHub.running(
        folder / "hub", extra=extra, groups=groups, tiny=True, python=HUB55
    ) as hub:
        hub.wait(hub.healthy, "the governor and its agent")
        yield hub


def test_configure_says_that_it_lifts_the_failure_limit(hub: RealHub) -> None:
    assert hub.rest("GET", "/").json["version"] == "5.5.4"
    assert "GPU Commons sets consecutive_failure_limit to 0" in hub.output()


def test_a_start_by_form_within_quota_and_its_own_token(hub: RealHub) -> None:
    ada = hub.person("ada")
    assert "Small slice" in ada.get("/hub/spawn/ada").text
    ada.spawn(SMALL)
    hub.wait(lambda: hub.ready("ada"), "ada's server")
    given = ada.get("/user/ada/environ").json
    own = call(
        "GET",
        f"{given['GPU_COMMONS_API_URL']}/servers/ada/-/lease",
        token=given["JUPYTERHUB_API_TOKEN"],
    )
    assert own.json["lease"]["state"] == LeaseState.running
    hub.stop_server("ada")
    hub.wait(lambda: not hub.leases(), "the lease to close")


def test_an_admin_is_seen_as_one_and_a_user_is_not(hub: RealHub) -> None:
    hub.start_server("cleo", SMALL)
    seen = {}
    for name in ("admin", "ada", "cleo"):
        person = hub.person(name)
        # A page first: the API alone sends nobody through OAuth.
        assert person.get("/services/gpu-commons/").status == 200
        listed = person.get("/services/gpu-commons/api/v1/leases").json["leases"]
        seen[name] = [lease["key"]["user"] for lease in listed]
    assert seen == {"admin": ["cleo"], "ada": [], "cleo": ["cleo"]}
    hub.stop_server("cleo")


def test_the_governor_stops_a_server_through_this_hub(hub: RealHub) -> None:
    hub.start_server("ada", SMALL, "second")
    lease = hub.leases()["ada/second"]
    assert hub.api("POST", f"/leases/{lease.id}/stop", {}).status == 202
    hub.wait(lambda: "ada/second" not in hub.leases(), "the lease to close")
    assert not hub.ready("ada", "second")


def test_twenty_refusals_in_a_row_leave_this_hub_up_too(hub: RealHub) -> None:
    for number in range(20):
        options = {"profile": "nonsense"} if number % 2 else {"profile": "small", "team": "vision"}
        answer = hub.spawn("cleo", options)
        assert 400 <= answer.status < 500, answer
        assert len(answer.json["message"]) > 20
    assert hub.alive()
    assert "consecutive spawn" not in hub.output()
    hub.start_server("ada", SMALL)


def test_who_waits_is_started_by_itself_with_the_scopes_of_5(hub: RealHub) -> None:
    hub.person("ben").get("/hub/home")
    for user in ("ada", "ben", "cleo"):
        hub.stop(user)
    hub.wait(lambda: not hub.leases(), "what ran before to end")
    for user, server in (("ada", ""), ("ada", "two"), ("cleo", "")):
        hub.start_server(user, SMALL, server)
    waits = hub.spawn("ben", {**SMALL, "wait": "start"})
    assert waits.status == 409
    assert "number 1 for pool slices" in waits.json["message"]
    hub.stop("ada")
    hub.wait(lambda: hub.ready("ben"), "ben's server to start by itself")
    for user, server in (("ada", "two"), ("cleo", ""), ("ben", "")):
        hub.stop_server(user, server)
    hub.wait(lambda: not hub.leases(), "all leases to close")
