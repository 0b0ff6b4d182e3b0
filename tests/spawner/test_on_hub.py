"""Real hubs of both supported versions with a governor that behaves: what people read and scripts
get, on every path, and that no number of refusals moves a hub towards its exit.
"""

import json
import signal
import sys
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import psutil
import pytest

from hub_ext.lease import Liveness, ReportKind
from tests.support.governor import TOKEN, FakeGovernor, offer
from tests.support.hub import HUB55, RealHub
from tests.support.web import Answer

pytestmark = pytest.mark.hub

PEOPLE = ["ada", "bob", "cleo", "dora", "eve", "finn"]
FULL = "0 of 0 devices are held & <b>busy</b>. Try again later."
CONFIG = """
from pathlib import Path
from spawner.local import GovernedLocalSpawner

class Moody(GovernedLocalSpawner):
    async def stop(self, now=False):
        if Path({state!r} + "-stop-raises").exists():
            raise RuntimeError("stop failed")
        await super().stop(now)

c.JupyterHub.spawner_class = Moody
c.GovernedMixin.governor_url = {url!r}
c.GovernedMixin.token_file = {token!r}
c.GovernedMixin.state_dir = {state!r}
c.GovernedLocalSpawner.left_behind_timeout = 2
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 5}}
# JupyterHub 5.5 counts every 4xx: `configure()` switches its limit off there.
c.Spawner.consecutive_failure_limit = {limit}
"""


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeGovernor]:
    with FakeGovernor.running() as governor:
        yield governor


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((sys.executable, 5), id="6.1"),
        pytest.param((str(HUB55), 0), id="5.5", marks=pytest.mark.hub55),
    ],
)
def hub(
    request: pytest.FixtureRequest, fake: FakeGovernor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealHub]:
    python, limit = request.param
    if not Path(python).exists():
        pytest.skip("the environment of JupyterHub 5.5 is not installed: make .venv-hub55/.ready")
    folder = tmp_path_factory.mktemp("hub")
    token = folder / "token"
    token.write_text(TOKEN)
    extra = CONFIG.format(url=fake.url, token=str(token), state=str(folder / "state"), limit=limit)
    with RealHub.running(
        folder, extra=extra, groups={"vision": PEOPLE}, python=python, tiny=True
    ) as running:
        running.add_users(*PEOPLE)
        yield running


@pytest.fixture(autouse=True)
def _fresh(hub: RealHub, fake: FakeGovernor) -> Iterator[None]:
    fresh = FakeGovernor()
    for name in ("room", "offers", "message", "delay_s", "environment", "refuse_with"):
        setattr(fake, name, getattr(fresh, name))
    yield
    for name in PEOPLE:
        for server, model in hub.user(name)["servers"].items():
            if model["ready"]:
                hub.stop_server(name, server)
    fake.asks.clear()
    fake.reports.clear()
    fake.grants.clear()


def progress(hub: RealHub, user: str, server: str = "") -> dict[str, Any]:
    """Read the last event of a server's progress stream."""
    where = f"servers/{server}" if server else "server"
    text = hub.rest("GET", f"/users/{user}/{where}/progress").text
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    last: dict[str, Any] = events[-1]
    return last


def shown(answer: Answer) -> str:
    """Text of a page as a person reads it, and proof that no word of it became markup."""
    assert "<b>busy</b>" not in answer.text
    return unescape(answer.text)


def retry_after(answer: Answer) -> str | None:
    """When to ask again, in whatever case the header came."""
    return {name.lower(): value for name, value in answer.headers.items()}.get("retry-after")


def test_the_form_lists_what_is_offered(hub: RealHub) -> None:
    page = hub.person("ada").get("/hub/spawn")
    assert page.status == 200
    for words in (
        'value="mig-small/vision"',
        "Profile mig-small",
        "EUR 0.80 an hour",
        "Inside the guarantee of vision",
        "share one operating-system user",
    ):
        assert words in page.text


def test_a_person_starts_from_the_form_and_gets_the_device(
    hub: RealHub, fake: FakeGovernor
) -> None:
    ada = hub.person("ada")
    answer = ada.spawn({"offer": "mig-small/vision", "lifetime": "2h", "project": ""})
    assert answer.status == 200, answer
    hub.wait(lambda: hub.ready("ada"), "ada's server")
    assert fake.asks[0].choice.lifetime_s == 7200
    assert fake.asks[0].groups == ("vision",)
    assert fake.asks[0].choice.team == "vision"
    seen = ada.get("/user/ada/environ").json
    assert seen["CUDA_VISIBLE_DEVICES"] == seen["NVIDIA_VISIBLE_DEVICES"] == "SIM-MIG-0"
    assert seen["GPU_COMMONS_LEASE_ID"] == "lease-1"
    started = fake.wait_for_reports(1)[0]
    assert started.process is not None
    assert started.process.pid == seen["pid"]
    hub.stop_server("ada")
    ended = fake.wait_for_reports(2)[1]
    assert (ended.liveness, ended.asked) == (Liveness.gone, True)
    assert not psutil.pid_exists(seen["pid"])


def test_a_refusal_reads_well_on_every_path(hub: RealHub, fake: FakeGovernor) -> None:
    fake.room = 0
    bob = hub.person("bob")

    form = bob.spawn({"offer": "mig-small/vision"})
    assert form.status == 409
    assert FULL in shown(form)
    assert form.text.count('name="offer"') == 2, "the form is there to choose again"
    assert retry_after(form) == "60"

    rest = hub.spawn("bob", {"profile": "mig-small"})
    assert rest.status == 409
    assert rest.json == {"status": 409, "message": FULL}
    assert retry_after(rest) == "60"

    assert progress(hub, "bob")["message"] == f"Spawn failed: {FULL}"

    pending = bob.get("/hub/spawn-pending/bob")
    assert pending.status == 409
    assert FULL in shown(pending)

    not_running = bob.get("/hub/user/bob/")
    assert FULL in shown(not_running)
    assert "has failed" in not_running.text


def test_a_refusal_of_a_named_server_reads_the_same(hub: RealHub, fake: FakeGovernor) -> None:
    fake.room = 0
    bob = hub.person("bob")
    form = bob.spawn({"offer": "mig-small/vision"}, server="second")
    assert form.status == 409
    assert FULL in shown(form)
    rest = hub.spawn("bob", {"profile": "mig-small"}, server="second")
    assert (rest.status, rest.json["message"]) == (409, FULL)
    assert FULL in progress(hub, "bob", "second")["message"]
    assert FULL in shown(bob.get("/hub/spawn-pending/bob/second"))
    assert {ask.key.server for ask in fake.asks} == {"second"}


def test_a_slow_refusal_is_still_told_in_full(hub: RealHub, fake: FakeGovernor) -> None:
    fake.room, fake.delay_s = 0, 1.5
    rest = hub.spawn("cleo", {"profile": "mig-small"})
    assert (rest.status, rest.json["message"]) == (409, FULL)


@pytest.mark.parametrize(
    "rubbish",
    [
        [1, 2],
        "text",
        {"user_options": [1]},
        {"user_options": {"profile": {"a": 1}}},
        {"profile": "../../etc/passwd"},
        {"profile": "mig-small", "image": "evil"},
        {"lifetime": "forever"},
        {"lifetime": {"$gt": ""}},
        {"__jupyterhub_bytes__": True, "data": "x"},
    ],
    ids=str,
)
def test_rest_rubbish_gets_a_4xx(hub: RealHub, fake: FakeGovernor, rubbish: object) -> None:
    answer = hub.spawn("cleo", rubbish)
    assert 400 <= answer.status < 500, answer
    assert answer.json["message"]
    # What a refused start left in the hub's database is no trap for the next one.
    assert hub.spawn("cleo", {"profile": "cpu"}).status in {201, 202}
    assert fake.asks[-1].choice.profile == "cpu"


def test_twenty_refusals_in_a_row_leave_the_hub_up(hub: RealHub, fake: FakeGovernor) -> None:
    fake.room = 0
    bodies: list[object] = [{"profile": "mig-small"}, {"gpu": "all"}]
    for number in range(20):
        assert 400 <= hub.spawn(PEOPLE[number % 5], bodies[number % 2]).status < 500
    time.sleep(3)  # the hub would end itself two seconds after the last one
    assert hub.alive()
    assert hub.rest("GET", "/").status == 200


def test_named_servers_are_servers_of_their_own(hub: RealHub, fake: FakeGovernor) -> None:
    hub.start_server("dora", {"profile": "mig-small"})
    hub.start_server("dora", {"profile": "mig-small"}, server="second")
    dora = hub.person("dora")
    one, two = (dora.get(f"/user/dora/{path}environ").json for path in ("", "second/"))
    assert {one["CUDA_VISIBLE_DEVICES"], two["CUDA_VISIBLE_DEVICES"]} == {"SIM-MIG-0", "SIM-MIG-1"}
    assert {grant.key.server for grant in fake.grants.values()} == {"", "second"}


def test_an_admin_starts_for_the_owner(hub: RealHub, fake: FakeGovernor) -> None:
    admin = hub.person("admin")
    page = admin.get("/hub/spawn/eve")
    assert 'value="mig-small/vision"' in page.text
    admin.post_form("/hub/spawn/eve", {"offer": "mig-small/vision"})
    hub.wait(lambda: hub.ready("eve"), "eve's server")
    assert (fake.asks[0].key.user, fake.asks[0].groups) == ("eve", ("vision",))


def test_governor_away_no_gpu_but_clear_words_and_cpu_servers(
    hub: RealHub, fake: FakeGovernor
) -> None:
    eve = hub.person("eve")
    eve.get("/hub/spawn")
    with fake.away():
        page = eve.get("/hub/spawn")
        assert page.status == 200
        assert "GPU Commons does not answer" in page.text
        assert 'value="cpu/vision"' in page.text
        assert 'value="mig-small/vision"' not in page.text

        rest = hub.spawn("eve", {"profile": "mig-small"})
        assert rest.status == 429
        assert "no GPU can be given out now" in rest.json["message"]

        hub.start_server("eve", {"profile": "cpu"})
        seen = eve.get("/user/eve/environ").json
        assert seen["NVIDIA_VISIBLE_DEVICES"] == "void"
        assert seen["CUDA_VISIBLE_DEVICES"] == ""
    hub.wait(lambda: fake.grants, "the start to be recorded", seconds=30)
    assert [grant.profile for grant in fake.grants.values()] == ["cpu"]
    assert [report.kind for report in fake.wait_for_reports(2)] == [
        ReportKind.ended,
        ReportKind.started,
    ]


def test_a_start_that_is_cancelled_is_told_to_the_governor(
    hub: RealHub, fake: FakeGovernor
) -> None:
    fake.delay_s = 1.8
    hub.person("finn").spawn({"offer": "mig-small/vision"})  # the form waits a second
    assert hub.user("finn")["servers"][""]["pending"] == "spawn"
    assert hub.stop("finn").status == 204
    fake.delay_s = 0.0
    ended = fake.wait_for_reports(1)[0]
    assert (ended.kind, ended.refused) == (ReportKind.ended, True)
    hub.wait(lambda: fake.asks, "the late ask")
    assert fake.grants == {}
    hub.start_server("finn", {"profile": "mig-small"})


def test_a_hub_that_was_killed_finds_its_server_and_reports_its_end(
    hub: RealHub, fake: FakeGovernor
) -> None:
    hub.start_server("finn", {"profile": "mig-small"})
    pid = hub.person("finn").get("/user/finn/environ").json["pid"]
    hub.end(signal.SIGKILL)
    hub.start()
    hub.wait(lambda: hub.ready("finn"), "finn's server to be known again")
    assert psutil.pid_exists(pid)
    hub.stop_server("finn")
    ended = fake.wait_for_reports(2)[-1]
    assert (ended.kind, ended.liveness, ended.asked) == (ReportKind.ended, Liveness.gone, True)
    assert fake.grants == {}


def test_offers_may_say_anything(hub: RealHub, fake: FakeGovernor) -> None:
    fake.offers = [offer("cpu", title="<script>alert(1)</script> & more")]
    page = hub.person("ada").get("/hub/spawn")
    assert "<script>alert(1)" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text


def test_a_stop_that_raises_leaves_the_server_known_and_never_makes_a_second(
    hub: RealHub, fake: FakeGovernor
) -> None:
    hub.start_server("cleo", {"profile": "mig-small"})
    pid = hub.person("cleo").get("/user/cleo/environ").json["pid"]
    mood = hub.folder / "state-stop-raises"
    mood.touch()
    try:
        hub.stop("cleo")
        hub.wait(fake.ended, "the report of the end")
        assert fake.ended()[0].liveness is Liveness.alive
        answer = hub.spawn("cleo", {"profile": "mig-small"})
        assert answer.status == 409
        assert "An earlier process still runs" in answer.json["message"]
        assert psutil.pid_exists(pid)
        assert len(fake.grants) == 1, "no device is free while the process lives"
    finally:
        mood.unlink()
    # The hub's clean-up after the next refusal ends it, and then there is a way again.
    assert hub.spawn("cleo", {"profile": "mig-small"}).status in {202, 409}
    hub.wait(lambda: not fake.grants, "the former server to be proved gone")
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    hub.wait(lambda: hub.settled("cleo"), "nothing to be pending")
    hub.start_server("cleo", {"profile": "mig-small"})
