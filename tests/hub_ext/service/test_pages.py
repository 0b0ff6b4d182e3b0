"""The pages as served: who sees which, what they say, and that every figure leads somewhere."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from tornado.httpclient import HTTPResponse

from hub_ext.lease import GOVERNOR, Actor, Cause, Notice, Reason
from hub_ext.policy.load import loads
from hub_ext.service.books.policybook import PolicyBook
from hub_ext.service.pages import overview as pages
from tests.hub_ext.service.api.people import introduce
from tests.support.governing import POLICY, Site, site_in
from tests.support.identities import PREFIX, Door, door_to
from tests.support.lived_in import edit_to_nonsense, morning


@dataclass
class Shown:
    """A site that is served; the loop runs only while a page is read."""

    door: Door
    runner: asyncio.Runner

    def __call__(self, path: str, token: str | None = "owner") -> HTTPResponse:
        """Open a page of ours, or any address that begins with a slash."""
        address = path if path.startswith("/") else PREFIX + path
        return self.runner.run(self.door.call("GET", address, token))


@contextmanager
def shown(folder: Path, before: Callable[[Site], object] = lambda _site: None) -> Iterator[Shown]:
    """Serve a site after something has happened there."""
    with asyncio.Runner() as runner, site_in(folder / "state") as site:
        before(site)
        stack = AsyncExitStack()
        door: Door = runner.run(stack.enter_async_context(door_to(site)))
        introduce(door.hub)
        door.hub.person("newcomer", "nora", groups=("elsewhere",))
        try:
            yield Shown(door, runner)
        finally:
            runner.run(stack.aclose())


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """The site after a morning of work; pages change nothing, so all tests share it."""
    with shown(tmp_path_factory.mktemp("morning"), morning) as served:
        yield served


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Shown]:
    """A site where nothing has happened yet."""
    with shown(tmp_path) as served:
        yield served


def words(answer: HTTPResponse) -> str:
    """What a person reads: the text without its markup."""
    text = re.sub(r"<[^>]+>", " ", answer.body.decode())
    return re.sub(r"\s+", " ", unescape(text))


PEOPLE = ("owner", "teammate", "lead", "other-lead", "admin", "guest", "newcomer")
OTHERS = ("spawner", "agent", "service", "owners-server", "admins-server")


@pytest.mark.parametrize(
    ("path", "seers", "otherwise"),
    [
        ("", set(PEOPLE), 403),
        ("team/vision", {"lead", "admin"}, 403),
        ("team/speech", {"other-lead", "admin"}, 403),
        ("admin", {"admin"}, 403),
        ("why/vera/train", {"owner", "lead", "admin"}, 404),
        ("why/viktor/-", {"teammate", "lead", "admin"}, 404),
        ("leases/l-0001", {"owner", "lead", "admin"}, 404),
        ("leases/l-9999", set(), 404),
    ],
)
def test_each_sees_what_is_theirs_and_services_see_no_page(
    read: Shown, path: str, seers: set[str], otherwise: int
) -> None:
    found = {role: read(path, role).code for role in PEOPLE}
    assert found == {role: 200 if role in seers else otherwise for role in PEOPLE}
    assert {read(path, role).code for role in OTHERS} == {403}


def test_somebody_unknown_is_sent_to_the_hubs_sign_in(fresh: Shown) -> None:
    answer = fresh("team/vision", None)
    assert answer.code == 302
    assert answer.headers["Location"].startswith("/hub/api/oauth2/authorize?")
    assert "vision" not in answer.body.decode()


def test_a_page_lets_in_no_foreign_script_and_no_frame(read: Shown) -> None:
    for path, token in (("", "owner"), ("admin", "owner"), ("admin", "admin")):
        answer = read(path, token)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.headers["Cache-Control"] == "no-store"
        text = answer.body.decode()
        assert not re.search(r"<script(?![^>]* src=)|\son\w+=|\sstyle=|https?://", text)


def test_my_page_says_what_runs_what_it_cost_and_what_binds_me(read: Shown) -> None:
    text = words(read(""))
    assert "Running now EUR 3.60 / h 1 server with a GPU" in text
    assert "Charged, November 2026 EUR 5.90 2 leases" in text
    assert "GPU-hours held, November 2026 1.59" in text
    assert "Total 1.59 EUR 5.90" in text
    assert "EUR 0.50" in text
    assert "EUR 5.40" in text
    assert "guaranteed" in text
    assert "Simulated" in text
    assert "may borrow up to 1 GPU" in text
    assert "quiet for 10m is idle and stopped after a notice of 5m" in text
    assert "viktor" not in text
    assert "speech" not in text


def test_every_figure_leads_to_its_evidence(read: Shown) -> None:
    for path, token in (("", "owner"), ("team/vision", "lead"), ("admin", "admin")):
        text = read(path, token).body.decode()
        inside = set(re.findall(r'href="(/services/gpu-commons/[^"#]*)', text))
        assert any("leases/" in one for one in inside)
        for address in inside:
            assert read(address, token).code == 200, address
        anchors = set(re.findall(r'href="#([^"]+)"', text))
        assert {one for one in anchors if f'id="{one}"' not in text} == set()


def test_without_anything_there_are_words_and_no_flat_zeros(fresh: Shown) -> None:
    text = words(fresh("", "newcomer"))
    assert "No GPU held. Nothing is being charged." in text
    assert "nothing yet" in text
    assert "unknown" in text
    assert "You are in no team" in text
    assert "EUR 0.00" not in text
    team = words(fresh("team/vision", "lead"))
    assert "No usage yet in this time." in team
    assert "No budget is set for the whole team" in team
    assert "Nobody of the team runs a server." in team
    why = words(fresh("why/vera/never"))
    assert "No lease of this server is on record" in why


def test_what_has_no_price_is_not_free(tmp_path: Path) -> None:
    def before(site: Site) -> None:
        unpriced = re.sub(r"prices:\n(  - .*\n)+", "prices: []\n", POLICY)
        site.governor.set_policy(loads(unpriced), now=site.now)
        site.run("vera", "one")
        site.later(3600)

    with shown(tmp_path, before) as served:
        text = words(served(""))
        assert "Running now not priced" in text
        assert "Charged, November 2026 not priced" in text
        assert "EUR" not in text


def test_the_team_page_sets_held_against_used_in_words_table_and_chart(read: Shown) -> None:
    answer = read("team/vision", "lead")
    text = words(answer)
    assert "Team vision held 1.89 GPU-hours (November 2026); 66 %" in text
    assert "maps · vera held most, 1.59." in text
    assert "maps vera 2 1.59 79 % of 1.58 GPU-hours measured EUR 5.90" in text
    assert "maps viktor 1 0.30 0 % EUR 1.08" in text
    assert "Total 1.89" in text
    assert "EUR 6.98" in text
    if pages.CHARTS.is_file():
        assert "data-figure=" in answer.body.decode()
    assert " sam " not in text


def test_without_the_charts_script_the_table_stays(
    read: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "CHARTS", tmp_path / "absent.js")
    answer = read("team/vision", "lead")
    assert "data-figure" not in answer.body.decode()
    assert "<script" not in answer.body.decode()
    assert "The chart's script is not installed" in words(answer)
    assert "Total 1.89" in words(answer)


def test_the_admin_sees_pools_devices_leases_and_a_refused_edit(tmp_path: Path) -> None:
    def before(site: Site) -> None:
        site.run("vera", "one")
        changed = POLICY.replace('borrowing_limit: "1"', 'borrowing_limit: "2"')
        site.governor.set_policy(loads(changed), now=site.now)
        edit_to_nonsense(site)

    with shown(tmp_path, before) as served:
        text = words(served("admin", "admin"))
        assert "2 of 3 devices free" in text
        assert "vera (vision)" in text
        page = served("admin", "admin").body.decode()
        assert 'role="img" aria-label="1 x whole GPU held"' in page
        assert 'aria-label="3 x 1g.18gb free, a hole of 5 of 8"' in page
        assert "Generation 2 is in force" in text
        assert "teams.vision.quota.whole.borrowing_limit: 1 -> 2" in text
        assert "was refused at 2026-11-30 09:00:00 UTC; generation 2 stays in force" in text
        assert "teams.vision.quota.whole.nominal: '0.3333' GPU is no whole number" in text


def test_drift_is_named_on_the_admins_page(tmp_path: Path) -> None:
    with shown(tmp_path, lambda site: site.later(7 * 86400)) as served:
        text = words(served("admin", "admin"))
        assert "Declared and found devices differ" in text
        assert "node-1 GPU 0 (h200-141gb)" in text
        assert "No device of this pool was found." in text


def test_the_why_page_has_cause_words_evidence_charge_and_timeline(read: Shown) -> None:
    text = words(read("why/viktor/-", "teammate"))
    assert "The server was stopped to free its GPU. Idle: quiet for" in text
    assert "its GPU was idle for longer than the policy allows" in text
    assert "quiet at most 0 % 16 min 0 s simulated" in text
    assert "CPU of its processes quiet at most 0.000 cores 16 min 0 s process" in text
    assert "1080 EUR 3.60 / h vision EUR 1.08" in text
    assert "Stop announced for 2026-11-30 09:17:00 UTC" in text
    assert "Charged: EUR 1.08." in text
    assert text.index("Stopping:") < text.index("Stop announced") < text.index("Granted")


def test_a_running_server_was_not_stopped_and_says_how_it_stands(read: Shown) -> None:
    text = words(read("why/vera/train"))
    assert "It was not stopped. In use." in text
    assert "Covered by the guarantee of team vision" in text
    assert "So far EUR 5.40" in text
    assert "GPU busy now: 83 %." in text


def test_an_announced_stop_stands_on_the_page_with_its_words(tmp_path: Path) -> None:
    def before(site: Site) -> None:
        grant = site.run("vera", "one")
        notice = Notice(
            cause=Cause.expired,
            given_at=site.now,
            stops_at=site.now + timedelta(minutes=5),
            reason=Reason(code="lifetime-ends", message="The lifetime ends soon. Save your work."),
        )
        site.governor.give_notice(grant.lease_id, notice, evidence=None, now=site.now)

    with shown(tmp_path, before) as served:
        for path in ("", "why/vera/-"):
            text = words(served(path))
            assert "stop announced" in text
            assert "It stops at 2026-11-30 09:05:00 UTC. The lifetime ends soon." in text


def test_while_a_server_stops_its_page_looks_again_until_it_is_gone(tmp_path: Path) -> None:
    root = Actor(kind="user", name="root", admin=True)

    def closed(site: Site) -> None:
        grant = site.run("vera")
        site.governor.close_by_hand(grant.lease_id, reason="tidying", actor=root, now=site.now)

    with shown(tmp_path, closed) as served:
        stopping = served("why/vera/-")
        assert stopping.headers["Refresh"] == "5"
        assert "This page looks again every 5 seconds" in words(stopping)
        site = served.door.site
        [lease] = site.governor.leases()
        assert served(f"leases/{lease.id}").headers["Refresh"] == "5"
        assert lease.process is not None
        site.machine.end(lease.process)
        site.governor.look(lease.id, now=site.now)
        gone = served("why/vera/-")
        assert "Refresh" not in gone.headers
        assert "stopped the server: tidying" in words(gone)
        assert "looks again" not in words(gone)


def test_a_server_without_a_gpu_is_not_charged(tmp_path: Path) -> None:
    def before(site: Site) -> None:
        site.run("vera", "cpu")

    with shown(tmp_path, before) as served:
        assert "no charge for GPUs" in words(served(""))
        assert "A server without a GPU is not charged." in words(served("why/vera/-"))


def test_words_of_people_and_policy_are_text_and_never_markup(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"

    def before(site: Site) -> None:
        titled = POLICY.replace("title: One GPU", f'title: "{evil}"')
        site.governor.set_policy(loads(titled), now=site.now)
        grant = site.run("vera", "one", server="<b>")
        reason = Reason(code="x", message=evil)
        site.governor.ask_stop(
            grant.lease_id, cause=Cause.admin, reason=reason, actor=GOVERNOR, now=site.now
        )

    with shown(tmp_path, before) as served:
        mine = served("")
        why = served("leases/l-0001")
        for answer in (mine, why):
            assert b"<img" not in answer.body
            assert b"<b>" not in answer.body
        assert evil in unescape(mine.body.decode())
        assert evil in unescape(why.body.decode())


def test_an_unknown_stretch_of_time_is_a_page_with_what_can_be_asked(read: Shown) -> None:
    answer = read("?window=%3Cscript%3E")
    assert answer.code == 400
    assert "Use today, yesterday, week," in words(answer)
    assert b"<script>" not in answer.body
    assert read("?window=last-month").code == 200
    assert "October 2026" in words(read("?window=last-month"))


def test_the_hub_away_is_told_on_a_page(fresh: Shown) -> None:
    fresh.door.hub.away = True
    answer = fresh("")
    assert answer.code == 503
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "The hub does not answer" in words(answer)


def test_style_and_scripts_are_served_and_nothing_beside_them(fresh: Shown) -> None:
    assert fresh("static/pages.css", None).code == 200
    assert fresh("static/charts.js", None).code == 200
    assert fresh("static/../pages.py", None).code in {403, 404}
    assert fresh("static/%2e%2e/pages.py", None).code in {403, 404}


def test_where_no_policy_was_ever_accepted_the_pages_say_so(tmp_path: Path) -> None:
    def before(site: Site) -> None:
        site.governor._desk.book = PolicyBook(site.ledger)

    with shown(tmp_path, before) as served:
        assert "No policy is in force" in words(served(""))
        assert "no GPU can be granted" in words(served("admin", "admin"))
