"""What people say of their leases: asked for above a price, kept in the team, told as figures."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hub_ext.cli import main
from hub_ext.errors import PolicyError, RefusedError
from hub_ext.lease import Actor, Ask, LeaseId, UserName, When
from hub_ext.lease.value import ValueWish
from hub_ext.ledger.said import said
from hub_ext.policy.catalogue import Person
from hub_ext.policy.load import loads
from hub_ext.service.leasing.timeline import timeline
from tests.hub_ext.service.api.stories import at_the_door
from tests.hub_ext.service.test_switch_page import choose
from tests.support.governing import POLICY, Site, site_in
from tests.support.identities import PREFIX, Door

VALUED = POLICY.replace(
    "projects:\n  maps: {team: vision}",
    "value: {classes: {core: Core research, try: Trying out}, purpose_above: '1.00'}\n"
    "projects:\n"
    "  maps: {team: vision, owner: olga, value_class: core, purpose: Maps of roads}\n"
    "  past: {team: vision, owner: olga, value_class: try, ends: 2026-11-30}",
)
SECRET = "the unannounced merger"


def asking(site: Site, user: str = "vera", profile: str = "one", **how: Any) -> Ask:
    purpose = how.pop("purpose", "")
    asked = site.asking(user, profile, **how)
    return asked.model_copy(update={"purpose": purpose})


def purpose_of(site: Site, lease_id: LeaseId) -> str:
    with site.ledger.transaction() as tx:
        return said(tx, lease_id)[0].purpose


def test_a_dear_lease_has_to_say_what_it_is_for_and_a_cheap_one_not(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=VALUED) as site:
        with pytest.raises(RefusedError, match="Say in a sentence") as refused:
            site.ask(asking(site))
        assert (refused.value.code, refused.value.status) == ("no-purpose", 400)
        assert "EUR 3.60 an hour" in refused.value.message
        assert site.governor.leases() == ()
        grant = site.ask(asking(site, purpose=SECRET))
        assert purpose_of(site, grant.lease_id) == SECRET
        assert site.lease(grant).value_class == "core"
        assert site.ask(asking(site, "viktor", "small")).standing == "guaranteed"


def test_what_has_no_price_is_not_taken_for_cheap(tmp_path: Path) -> None:
    unpriced = VALUED.replace("  - {pool: mig, flavor: 1g.18gb, from: 2026-01-01", "  - {pool: mig")
    unpriced = unpriced.replace('  - {pool: mig, per_hour: "0.72"}\n', "")
    with site_in(tmp_path, policy=unpriced) as site:
        with pytest.raises(RefusedError, match="no price is set for it"):
            site.ask(asking(site, profile="small"))
        assert site.ask(asking(site, profile="cpu")).standing == "unmetered"


def test_a_purpose_goes_along_with_a_wish_that_takes_the_place_of_another(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=VALUED) as site:
        for user in ("vera", "viktor", "sam"):
            site.started(site.ask(asking(site, user, purpose=f"work of {user}")))
        waiting = asking(site, "sue", purpose=SECRET, when=When.start)
        with suppress(RefusedError):
            site.ask(waiting)
        lease = site.governor.view(waiting.key, now=site.now).lease
        assert lease is not None
        # Another wording of the purpose is no other wish: the place stays.
        again = asking(site, "sue", purpose="something else", when=When.start)
        with suppress(RefusedError):
            site.ask(again)
        same = site.governor.view(waiting.key, now=site.now).lease
        assert same is not None
        assert (same.id, purpose_of(site, same.id)) == (lease.id, "something else")
        other = asking(site, "sue", "two", when=When.start)
        with suppress(RefusedError):
            site.ask(other)
        fresh = site.governor.view(waiting.key, now=site.now).lease
        assert fresh is not None
        assert fresh.profile == "two"
        assert purpose_of(site, fresh.id) == "something else"


def test_a_project_that_has_ended_gets_no_gpu(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=VALUED) as site:
        with pytest.raises(RefusedError, match="ended on 2026-11-30") as refused:
            site.ask(asking(site, profile="small", project="past"))
        assert "'maps'" in refused.value.message
        assert site.ask(asking(site, profile="cpu", project="past")).project == "past"
        vera = Person(user=UserName("vera"), groups=("vision",))
        offers = site.governor.offers(vera, now=site.now)
        by_profile = {str(one.profile): one.projects for one in offers.offers}
        assert by_profile["small"] == ("maps",)
        assert by_profile["cpu"] == ("maps", "past")
        assert {one.profile for one in offers.offers if one.needs_purpose} == {"one", "two"}
        assert offers.takes_purpose


def test_where_every_project_has_ended_its_owner_is_named(tmp_path: Path) -> None:
    maps = "  maps: {team: vision, owner: olga, value_class: core, purpose: Maps of roads}\n"
    gone = pytest.raises(RefusedError, match="Ask olga whether it goes on")
    with site_in(tmp_path, policy=VALUED.replace(maps, "")) as site, gone:
        site.ask(asking(site, profile="small"))


def test_what_came_of_it_can_be_said_after_its_end_and_nothing_is_taken_back(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path, policy=VALUED) as site:
        grant = site.ask(asking(site, purpose="tuning"))
        vera = Actor(kind="user", name="vera")
        early = ValueWish(outcome="useful")
        with pytest.raises(RefusedError, match="never ran"):
            site.governor.say(grant.lease_id, early, actor=vera, now=site.now)
        site.started(grant)
        site.later(3600)
        site.stop(grant)
        site.governor.say(grant.lease_id, ValueWish(outcome="failed"), actor=vera, now=site.now)
        linked = ValueWish(outcome="useful", link="https://example.org/run/7")
        site.governor.say(grant.lease_id, linked, actor=vera, now=site.later(60))
        site.governor.say(grant.lease_id, linked, actor=vera, now=site.later(60))
        value = site.governor.value_of(grant.lease_id, in_team=True, now=site.now)
        assert (value.purpose, value.outcome, value.link) == (
            "tuning",
            "useful",
            "https://example.org/run/7",
        )
        file = site.governor.dossier(grant.lease_id, now=site.now)
        told = [line["what"] for line in timeline(file.events, "UTC", "EUR")]
        assert [one for one in told if "Its owner says" in one] == [
            "Its owner says what came of it: useful.",
            "Its owner says what came of it: failed.",
            "Its owner says what it is for.",
        ]


@pytest.mark.parametrize(
    "wish",
    [
        {"outcome": "splendid"},
        {"link": "javascript:alert(1)"},
        {"link": 'https://example.org/"onmouseover='},
        {"purpose": "x" * 201},
        {"purpose": "a\nb"},
        {"more": 1},
    ],
)
def test_rubbish_is_refused(tmp_path: Path, wish: dict[str, object]) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        answer = await door.call("POST", f"leases/{grant.lease_id}/value", "owner", wish)
        assert (answer.code, json.loads(answer.body)["code"]) == (400, "bad-request")

    at_the_door(tmp_path, story)


def test_free_text_is_told_to_the_team_alone(tmp_path: Path) -> None:
    link = "https://example.org/merger"

    async def story(door: Door) -> None:
        grant = door.site.ask(asking(door.site, purpose=SECRET))
        door.site.started(grant)
        path = f"leases/{grant.lease_id}/value"
        wish = {"outcome": "useful", "link": link}
        assert (await door.call("POST", path, "owner", wish)).code == 200
        for role, inside in (("owner", True), ("owners-server", True), ("lead", True)):
            found = json.loads((await door.call("GET", path, role)).body)
            assert (found["purpose"] == SECRET) is inside
            assert (found["link"] == link) is inside
        admins = json.loads((await door.call("GET", path, "admin")).body)
        assert (admins["purpose"], admins["link"]) == (None, None)
        assert (admins["has_purpose"], admins["outcome"], admins["has_link"]) == (
            True,
            "useful",
            True,
        )
        everything = (
            *(f"{PREFIX}{page}" for page in ("", "admin", f"leases/{grant.lease_id}")),
            *("leases", f"leases/{grant.lease_id}", "why", "queue", "usage?scope=all"),
            *("spend?scope=all&aggregate=lease,outcome,purpose", "policy", "anomalies"),
        )
        for other in ("admin", "other-lead", "teammate", "guest"):
            for page in everything:
                answer = await door.call("GET", page, other)
                assert SECRET.encode() not in answer.body, (other, page)
                assert link.encode() not in answer.body, (other, page)
        # Her own page and her lead's show it.
        for role in ("owner", "lead"):
            mine = await door.call("GET", f"{PREFIX}leases/{grant.lease_id}", role)
            assert SECRET.encode() in mine.body

    at_the_door(tmp_path, story, policy=VALUED)


def test_spend_is_told_by_class_outcome_and_purpose(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.ask(asking(door.site, purpose=SECRET))
        door.site.started(grant)
        door.site.later(3600)
        door.site.stop(grant)
        asked = "spend?scope=team:vision&aggregate=valueClass,outcome,purpose"
        before = json.loads((await door.call("GET", asked, "lead")).body)
        assert [row["names"] for row in before["rows"]] == [
            {"valueClass": "core", "outcome": None, "purpose": "stated"}
        ]
        wish = {"outcome": "useful"}
        await door.call("POST", f"leases/{grant.lease_id}/value", "owner", wish)
        after = json.loads((await door.call("GET", asked, "lead")).body)
        assert after["rows"][0]["names"]["outcome"] == "useful"
        by_project = await door.call("GET", "spend?scope=all&aggregate=project", "admin")
        assert json.loads(by_project.body)["rows"][0]["owners"] == ["olga"]

    at_the_door(tmp_path, story, policy=VALUED)


def test_the_form_on_the_page_says_it_and_shows_it_again(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera")
        page, form = f"leases/{grant.lease_id}", f"value/{grant.lease_id}"
        before = await door.call("GET", PREFIX + page, "owner")
        assert b"Nothing was said of it yet." in before.body
        leads = await door.call("GET", PREFIX + page, "lead")
        assert form.encode() not in leads.body
        said_so = {"purpose": "a <b>bold</b> try", "outcome": "failed", "link": ""}
        assert (await choose(door, form, "lead", **said_so)).code == 403
        assert (await choose(door, form, "teammate", **said_so)).code == 404
        answer = await choose(door, form, "owner", **said_so)
        assert (answer.code, answer.headers["Location"]) == (302, PREFIX + page)
        after = await door.call("GET", PREFIX + page, "owner")
        assert b"a &lt;b&gt;bold&lt;/b&gt; try" in after.body
        assert b'<option value="failed" selected>' in after.body
        wrong = await choose(door, form, "owner", link="ftp://example.org")
        assert wrong.code == 400

    at_the_door(tmp_path, story)


def test_classes_are_checked() -> None:
    wrong = VALUED.replace("value_class: core", "value_class: cor")
    with pytest.raises(PolicyError, match="did you mean 'core'"):
        loads(wrong)


@pytest.mark.parametrize("form", ["focus-1.4", "focus-1.2", "csv", "json"])
def test_no_export_and_no_command_has_the_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    link = "https://example.org/merger"
    with site_in(tmp_path, policy=VALUED) as site:
        grant = site.ask(asking(site, purpose=SECRET))
        site.started(grant)
        vera = Actor(kind="user", name="vera")
        wish = ValueWish(outcome="useful", link=link)
        site.governor.say(grant.lease_id, wish, actor=vera, now=site.later(3600))
        site.stop(grant)
    state = ["--state", str(tmp_path)]
    assert main(["export", *state, "--window", "2026-11", "--format", form]) == 0
    exported = capsys.readouterr().out
    assert main(["lease", "show", grant.lease_id, "--json", *state]) == 0
    shown = capsys.readouterr().out
    for text in (exported, shown):
        assert grant.lease_id in text
        assert SECRET not in text
        assert link not in text
    assert '"has_purpose": true' in shown
