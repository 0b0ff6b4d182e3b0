"""The page on which a person gives a running server another profile, and the way back to queue."""

from pathlib import Path
from urllib.parse import urlencode

from tornado.httpclient import HTTPResponse

from hub_ext.lease import LeaseState, LeaseView, SwitchSheet
from tests.hub_ext.service.api.stories import at_the_door
from tests.hub_ext.service.test_calling_in import NOTICE_S, called_in, review
from tests.hub_ext.service.test_queue_page import submit, words
from tests.support.identities import PREFIX, Door


async def choose(door: Door, path: str, token: str, **fields: str) -> HTTPResponse:
    return await door.call(
        "POST",
        f"{PREFIX}{path}",
        token,
        urlencode(fields).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def test_the_page_of_a_server_leads_to_the_choice_and_the_choice_waits(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera", "small")
        page = f"{PREFIX}leases/{grant.lease_id}"
        assert "Change its profile" in words(await door.call("GET", page, "owner"))
        assert "Change its profile" not in words(await door.call("GET", page, "lead"))
        text = words(await door.call("GET", f"{PREFIX}switch/{grant.lease_id}", "owner"))
        assert "It has MIG now" in text
        assert "One GPU for team vision" in text
        assert "MIG for team vision" not in text
        answer = await choose(door, f"switch/{grant.lease_id}", "owner", offer="one/vision")
        assert answer.code == 302
        assert "One GPU, " in words(await door.call("GET", f"{PREFIX}queue", "owner"))
        (fresh,) = [one for one in door.site.governor.leases() if one.replaces]
        assert (fresh.replaces, fresh.state) == (grant.lease_id, LeaseState.queued)

    at_the_door(tmp_path, story)


def test_others_may_not(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera", "small")
        for token in ("teammate", "guest"):
            page = f"{PREFIX}switch/{grant.lease_id}"
            assert (await door.call("GET", page, token)).code == 404
        answer = await choose(door, f"switch/{grant.lease_id}", "lead", offer="one/vision")
        assert answer.code == 403

    at_the_door(tmp_path, story)


def test_who_was_called_in_is_offered_the_old_place(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        site = door.site
        borrowed, _owner = called_in(site)
        site.later(NOTICE_S)
        review(site)
        site.stop(borrowed)
        page = f"{PREFIX}leases/{borrowed.lease_id}"
        assert "Queue again in the old place" in words(await door.call("GET", page, "admin"))
        answer = await submit(door, "again", "admin", lease=borrowed.lease_id)
        assert answer.code == 302
        assert "Queue again in the old place" not in words(await door.call("GET", page, "admin"))

    at_the_door(tmp_path, story)


def test_the_server_itself_sees_the_choices_asks_and_leaves_it(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera", "small")
        path = f"leases/{grant.lease_id}/switch"
        answer = await door.call("GET", path, "owners-server")
        sheet = SwitchSheet.model_validate_json(answer.body)
        (one,) = [x for x in sheet.offers if x.choice.profile == "one" and x.team == "vision"]
        body = {"choice": one.choice.model_dump(mode="json")}
        asked = await door.call("POST", path, "owners-server", body)
        assert asked.code == 202
        view = LeaseView.model_validate_json(
            (await door.call("GET", f"leases/{grant.lease_id}", "owners-server")).body
        )
        assert view.change is not None
        assert view.change.title == "One GPU"
        left = await door.call("POST", f"leases/{view.change.lease_id}/cancel", "owners-server", {})
        assert left.code == 200
        assert (await door.call("GET", path, "owners-other-server")).code == 404

    at_the_door(tmp_path, story)


def test_what_is_not_offered_is_refused_in_words(tmp_path: Path) -> None:
    async def story(door: Door) -> None:
        grant = door.site.run("vera", "small")
        answer = await choose(door, f"switch/{grant.lease_id}", "owner", offer="none/such")
        assert answer.code == 409
        assert b"choose again" in answer.body

    at_the_door(tmp_path, story)
