"""Every route with every role: who gets what, and that nobody learns of what is not theirs."""

import asyncio
import json
from pathlib import Path

import pytest

from hub_ext.lease import Grant, LeaseState, Liveness, Report, ReportKind, SampleBatch
from hub_ext.service.api.routes import ROUTES
from tests.hub_ext.service.api.people import ROLES, introduce
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import Site, site_in
from tests.support.identities import Door, door_to

ADMINS = {"admin", "admin-by-session"}
OWNERS = ADMINS | {"owner", "owners-server"}
PEOPLE = ADMINS | {"owner", "teammate", "lead", "other-lead", "admins-small-token", "guest"}
SERVERS = {"owners-server", "owners-other-server", "admins-server"}
SERVICES = {"spawner", "agent", "service"}

MATRIX: dict[str, tuple[int, set[str], int]] = {
    "POST attempts": (200, {"spawner"}, 403),
    "POST attempts/{attempt_id}/reports": (204, {"spawner"}, 403),
    "GET offers": (200, PEOPLE, 403),
    "GET offers of another": (200, ADMINS | {"spawner"}, 403),
    "GET leases": (200, PEOPLE | SERVERS, 403),
    "GET leases/{lease_id}": (200, OWNERS | {"lead"}, 404),
    "POST leases/{lease_id}/stop": (202, OWNERS, 404),
    "POST leases/{lease_id}/extend": (202, OWNERS, 404),
    "POST leases/{lease_id}/keep": (202, OWNERS, 404),
    "GET leases/{lease_id}/switch": (200, OWNERS, 404),
    # Her lease is running with the profile that is asked for.
    "POST leases/{lease_id}/switch": (409, OWNERS, 404),
    "GET why": (200, PEOPLE | SERVERS, 403),
    # Her lease runs, so that whoever may hears 409: it does not wait.
    "POST leases/{lease_id}/cancel": (409, OWNERS, 404),
    "POST leases/{lease_id}/change": (409, OWNERS, 404),
    # Nor was it called in.
    "POST leases/{lease_id}/again": (409, OWNERS, 404),
    "POST leases/{lease_id}/close": (202, ADMINS, 403),
    # Her process is seen and her server has a lease: whoever may hears 409, the others 403.
    "POST leases/{lease_id}/force-release": (409, ADMINS, 403),
    "POST leases/{lease_id}/prolong": (202, ADMINS, 403),
    "POST leases/{lease_id}/move": (202, ADMINS, 403),
    "POST grants": (409, ADMINS, 403),
    "GET capacity": (200, ADMINS, 403),
    "GET devices": (200, ADMINS, 403),
    # Nothing is called so: whoever may hears 404.
    "POST devices/{device}/out": (404, ADMINS, 403),
    "POST devices/{device}/back": (409, ADMINS, 403),
    "POST drains": (202, ADMINS, 403),
    "POST drains/lift": (409, ADMINS, 403),
    "GET maintenance": (200, ADMINS, 403),
    "POST maintenance": (202, ADMINS, 403),
    "POST maintenance/{maintenance}/call-off": (404, ADMINS, 403),
    "GET exemptions": (200, ADMINS, 403),
    "POST exemptions": (202, ADMINS, 403),
    "POST exemptions/{exemption}/end": (404, ADMINS, 403),
    "GET idle": (200, ADMINS, 403),
    # They are not held: whoever may hears 409.
    "POST idle/release": (409, ADMINS, 403),
    "GET idle/trials": (200, ADMINS, 403),
    # No such rule is on trial: whoever may hears 404.
    "POST idle/trials/{rule}/switch-on": (404, ADMINS, 403),
    "GET months": (200, ADMINS, 403),
    # It is not over, and there is no such charge: whoever may hears that.
    "POST months/{month}/close": (409, ADMINS, 403),
    "POST corrections": (404, ADMINS, 403),
    "GET reservations": (200, PEOPLE, 403),
    # No pool may be reserved there: whoever may hears that.
    "POST reservations": (403, PEOPLE, 403),
    "POST reservations/{reservation}/cancel": (404, PEOPLE, 403),
    "POST reservations/{reservation}/skip": (404, PEOPLE, 403),
    "GET servers/{user}/{server}/lease": (200, OWNERS | {"lead"}, 404),
    "POST servers/{user}/{server}/activity": (204, {"owners-server"}, 403),
    "GET usage": (200, PEOPLE, 403),
    "GET usage of the team": (200, ADMINS | {"lead"}, 403),
    "GET usage of all": (200, ADMINS, 403),
    "GET leases/{lease_id}/value": (200, OWNERS | {"lead"}, 404),
    "POST leases/{lease_id}/value": (200, OWNERS, 404),
    "GET spend/changes": (200, PEOPLE, 403),
    "GET spend/changes of the team": (200, ADMINS | {"lead"}, 403),
    "GET spend/models": (200, PEOPLE, 403),
    "GET spend/models of all": (200, ADMINS, 403),
    "GET spend/dearest": (200, PEOPLE, 403),
    "GET spend/dearest of the team": (200, ADMINS | {"lead"}, 403),
    "GET spend/owners": (200, PEOPLE, 403),
    "GET spend/owners of all": (200, ADMINS, 403),
    "GET value": (200, PEOPLE, 403),
    "GET value of the team": (200, ADMINS | {"lead"}, 403),
    "GET spend": (200, PEOPLE, 403),
    "GET spend of the team": (200, ADMINS | {"lead"}, 403),
    "GET spend of all": (200, ADMINS, 403),
    "GET waste": (200, PEOPLE, 403),
    "GET waste of the team": (200, ADMINS | {"lead"}, 403),
    "GET waste of all": (200, ADMINS, 403),
    "GET fleet": (200, ADMINS, 403),
    "GET queue": (200, PEOPLE, 403),
    "GET waits": (200, ADMINS | {"lead", "other-lead"}, 403),
    "GET anomalies": (200, ADMINS | {"lead", "other-lead"}, 403),
    # Nothing is called so: whoever may hears 404.
    "POST anomalies/{anomaly}/act": (404, ADMINS | {"lead", "other-lead"}, 403),
    "POST samples": (200, {"agent"}, 403),
    "GET policy": (200, PEOPLE, 403),
    "GET limits": (200, PEOPLE, 403),
    "GET limits of another": (200, ADMINS, 403),
    "GET teams/{team}/moves": (200, ADMINS | {"lead"}, 403),
    "GET teams/{team}/outlook": (200, ADMINS | {"lead"}, 403),
    "GET teams/{team}/months/{month}": (200, ADMINS | {"lead"}, 403),
    # No pool is called so: whoever may hears 409.
    "POST teams/{team}/moves": (409, ADMINS | {"lead"}, 403),
    "GET teams/{team}/keeps": (200, ADMINS | {"lead"}, 403),
    "POST teams/{team}/keeps": (202, ADMINS | {"lead"}, 403),
}
"""Route -> the answer to those who may, who they are, and the answer to the others.

All is about vera's server, her lease and her team.
"""


BY_HAND: dict[str, dict[str, object]] = {
    "POST devices/{device}/out": {},
    "POST devices/{device}/back": {},
    "POST drains": {"place": "pool", "name": "mig"},
    "POST drains/lift": {"place": "pool", "name": "mig"},
    "POST maintenance": {
        "wanted": {
            "place": "pool",
            "name": "mig",
            "start": "2027-01-04T06:00:00Z",
            "end": "2027-01-04T09:00:00Z",
        }
    },
    "POST maintenance/{maintenance}/call-off": {},
    "POST leases/{lease_id}/prolong": {"until": "2026-12-04T09:00:00Z"},
    "POST exemptions": {
        "wanted": {"subject": "person", "name": "vera", "until": "2026-12-04T09:00:00Z"}
    },
    "POST exemptions/{exemption}/end": {},
    "POST idle/release": {},
    "POST idle/trials/{rule}/switch-on": {},
    "POST months/{month}/close": {},
    "POST corrections": {"wanted": {"lease_id": "l-none", "start": "2026-11-30T09:00:00Z"}},
    "POST anomalies/{anomaly}/act": {"act": "ask"},
    "POST teams/{team}/keeps": {
        "wanted": {"user": "vera", "more_s": 3600, "until": "2026-12-02T09:00:00Z"}
    },
    "POST teams/{team}/moves": {"pool": "none", "to_project": "maps", "gpus": "1"},
}
"""What an administrator's act says beside its reason."""

SAID: dict[str, dict[str, object]] = {
    "POST leases/{lease_id}/extend": {"seconds": 60},
    "POST leases/{lease_id}/value": {"purpose": "a test", "outcome": "useful"},
    "POST servers/{user}/{server}/activity": {
        "at": "2026-11-30T09:00:00Z",
        "kernels": 1,
        "kernels_busy": 1,
    },
    "POST leases/{lease_id}/change": {"choice": {"profile": "small"}, "when": "hold"},
    "POST reservations/{reservation}/skip": {"day": "2026-12-01"},
    "POST reservations": {
        "profile": "one",
        "team": "vision",
        "user": "vera",
        "starts": "2026-12-01T09:00:00",
        "ends": "2026-12-01T12:00:00",
    },
}
"""What other requests say, whoever makes them."""


def expected(route: str, role: str) -> int:
    """Whoever is not known to the hub, or has no access to us, gets no further than the door."""
    yes, who, no = MATRIX[route]
    if role == "nobody":
        return 401
    if role == "stranger":
        return 403
    if role in who:
        return yes
    # A lead sees the lease and so hears "not yours"; to other people and servers there is none.
    return 403 if role in SERVICES | {"lead"} else no


def report(grant: Grant) -> dict[str, object]:
    told = Report(kind=ReportKind.started, key=grant.key, liveness=Liveness.alive)
    return told.model_dump(mode="json")


def batch(site: Site) -> dict[str, object]:
    told = SampleBatch(node="node-1", source="simulated", sent_at=site.now, period_s=3600)
    return told.model_dump(mode="json")


def request_of(route: str, site: Site, grant: Grant) -> tuple[str, str, object]:
    """Fill a route with vera's own things."""
    method, _space, path = route.partition(" ")
    path = path.replace("{attempt_id}", grant.attempt_id).replace("{lease_id}", grant.lease_id)
    path = path.replace("{user}", "vera").replace("{server}", "-")
    path = path.replace("offers of another", "offers?user=sam&group=speech")
    path = path.replace(" of the team", "?scope=team:vision")
    path = path.replace(" of all", "?scope=all")
    path = path.replace("{device}", "GPU-of-nobody").replace("{team}", "vision")
    path = path.replace("/months/{month}", "/months/month") if method == "GET" else path
    path = path.replace("limits of another", "limits?user=sam&group=speech")
    body: dict[str, object] | None = None
    if route in BY_HAND:
        body = {"reason": "tidying", **BY_HAND[route]}
    elif route in SAID:
        body = SAID[route]
    elif route == "POST attempts":
        body = json.loads(site.asking("sam", "cpu").model_dump_json())
    elif route.endswith("reports"):
        body = report(grant)
    elif route == "POST samples":
        body = batch(site)
    elif route.endswith("switch"):
        body = {"choice": {"profile": site.lease(grant).profile}}
    elif route.endswith(("close", "force-release", "move", "grants")):
        other = "speech" if site.lease(grant).team == "vision" else "vision"
        body = {"reason": "tidying"}
        body |= {"into": {"team": other}} if route.endswith("move") else {}
        body |= {"wanted": {"user": "vera"}} if route.endswith("grants") else {}
    return method, path, body


def test_the_matrix_has_every_route() -> None:
    routes = {f"{route.method} {route.path}" for route in ROUTES}
    assert {route for route in MATRIX if " of " not in route} == routes


@pytest.mark.parametrize("route", MATRIX)
def test_each_role_gets_what_it_may(route: str, tmp_path: Path) -> None:
    found = {}

    async def story() -> None:
        with site_in(tmp_path) as site:
            grant = site.run("vera")
            async with door_to(site) as door:
                introduce(door.hub)
                for role in ROLES:
                    method, path, body = request_of(route, site, grant)
                    token = None if role == "nobody" else role
                    answer = await door.call(method, path, token, body)
                    found[role] = answer.code
                    if answer.code >= 400:
                        is_problem(answer.headers["Content-Type"], answer.body)
                        assert site.lease(grant).state is LeaseState.running
                    elif site.lease(grant).state is not LeaseState.running:
                        site.stop(grant)
                        grant = site.run("vera")

    asyncio.run(story())
    assert found == {role: expected(route, role) for role in ROLES}


def is_problem(content_type: str, body: bytes) -> None:
    assert content_type == "application/problem+json"
    problem = json.loads(body)
    assert {"type", "title", "status", "detail", "code", "figures"} <= problem.keys()
    assert problem["detail"].endswith((".", "?"))


def test_a_hidden_lease_and_no_lease_look_the_same(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        for method, tail in (("GET", ""), ("POST", "/stop"), ("POST", "/keep")):
            hidden = await door.call(method, f"leases/{grant.lease_id}{tail}", "teammate")
            absent = await door.call(method, f"leases/l-none{tail}", "teammate")
            assert (hidden.code, hidden.body) == (absent.code, absent.body)
        hidden = await door.call("GET", "servers/vera/-/lease", "guest")
        absent = await door.call("GET", "servers/ghost/-/lease", "guest")
        assert (hidden.code, hidden.body) == (absent.code, absent.body)

    at_the_door(tmp_path, story)


def test_lists_hold_only_what_the_caller_may_see(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        seen = {}
        for role in ("owner", "owners-other-server", "teammate", "lead", "other-lead", "admin"):
            answer = await door.call("GET", "leases", role)
            seen[role] = [lease["id"] for lease in json.loads(answer.body)["leases"]]
        mine = [grant.lease_id]
        assert seen == {
            "owner": mine,
            "owners-other-server": [],
            "teammate": [],
            "lead": mine,
            "other-lead": [],
            "admin": mine,
        }

    at_the_door(tmp_path, story)


def test_a_lead_is_not_shown_acts_that_are_not_theirs(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        for role, may in (("owner", True), ("owners-server", True), ("lead", False)):
            view = json.loads((await door.call("GET", f"leases/{grant.lease_id}", role)).body)
            assert view["can_stop"] is may
            assert (view["extend_max_s"] > 0) is may

    at_the_door(tmp_path, story)


def test_policy_text_and_drift_are_for_admins(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        door.site.report_devices(without=frozenset({door.site.held()[0]}))
        for role, may in (("admin", True), ("teammate", False)):
            policy = json.loads((await door.call("GET", "policy", role)).body)
            queue = json.loads((await door.call("GET", "queue", role)).body)
            assert (policy["text"] is not None) is may
            assert bool(queue["drift"]) is may
            assert policy["state"]["generation"] == 1

    at_the_door(tmp_path, story)


def test_an_admin_who_stops_anothers_server_is_named_as_one(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        await door.call("POST", f"leases/{grant.lease_id}/stop", "admin")
        lease = door.site.lease(grant)
        assert (lease.state, lease.cause) == (LeaseState.stopping, "admin")
        assert lease.reason is not None
        assert "ada" in lease.reason.message

    at_the_door(tmp_path, story)


def test_health_and_the_apis_shape_are_open_and_name_nobody(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        door.site.report_devices(without=frozenset({door.site.held()[0]}))
        health = await door.call("GET", "/services/gpu-commons/healthz")
        assert (health.code, json.loads(health.body)["status"]) == (200, "degraded")
        for word in (b"vera", b"vision", b"node-", b"SIM-", b"whole"):
            assert word not in health.body
        shape = await door.call("GET", "/services/gpu-commons/openapi.json")
        assert shape.code == 200

    at_the_door(tmp_path, story)


def test_metrics_need_the_hubs_own_scope(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        door.site.run("vera")
        door.hub.service("prometheus", "prometheus", "read:metrics")
        codes = {
            role: (await door.call("GET", "/services/gpu-commons/metrics", role)).code
            for role in ("prometheus", "admin", "service", "owner", "spawner")
        }
        assert codes == {
            "prometheus": 200,
            "admin": 200,
            "service": 403,
            "owner": 403,
            "spawner": 403,
        }

    at_the_door(tmp_path, story)
