"""What a page may read and ask of its own server, and what never passes through."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hub_ext.lease import Cause, Problem, ProcessRef
from tests.support.lab_governor import TOKEN, LabGovernor, a_lease, without_gpu
from tests.support.lab_identity import GUEST_TOKEN, OWNER_TOKEN
from tests.support.lab_page import Page
from tests.support.lab_server import LabServer, hub_environment, lab_server
from tests.support.web import call


@pytest.fixture(autouse=True)
def as_it_was(governor: LabGovernor) -> Iterator[None]:
    governor.change(
        lease=a_lease(datetime.now(UTC)),
        ended=None,
        refusal=None,
        silent=False,
        extend_max_s=10800,
        switch_to=None,
    )
    governor.calls.clear()
    yield
    governor.change(refusal=None, silent=False)


def ask(
    server: LabServer, verb: str, body: object = None, token: str = OWNER_TOKEN
) -> tuple[int, Any]:
    answer = call("POST", f"{server.url}/gpu-commons/{verb}", token=token, body=body or {})
    return answer.status, answer.json


def test_the_owner_sees_the_lease_at_once_and_its_cost_rises(
    server: LabServer, governor: LabGovernor
) -> None:
    governor.speed = 3600
    with Page(server.url) as page:
        first = page.until(lambda state: state["link"] == "live")
        assert first["view"]["lease"]["team"] == "vision"
        assert first["view"]["cost"]["rate_text"] == "EUR 4.20 / h"
        assert first["pages_path"] == "/services/gpu-commons/"
        later = page.until(
            lambda state: (
                state["view"]["cost"]["so_far_micro"] > first["view"]["cost"]["so_far_micro"]
            )
        )
    assert later["view"]["cost"]["so_far_text"] != first["view"]["cost"]["so_far_text"]


def test_no_token_and_no_process_reaches_the_page(server: LabServer, governor: LabGovernor) -> None:
    process = ProcessRef(pid=4711, created_us=1_790_000_000_000_000)
    governor.change(lease=a_lease(datetime.now(UTC), process=process))
    with Page(server.url) as page:
        line = str(page.until(lambda state: state["link"] == "live"))
        assert TOKEN not in line
        assert "created_us" not in line
        assert page.response.headers["Content-Type"] == "application/x-ndjson"
        assert page.response.headers["Cache-Control"] == "no-store"


def test_a_change_comes_at_once_and_not_with_the_next_poll(
    governor: LabGovernor, tmp_path: Path
) -> None:
    patient = "c.LabFeed.watched_wait_s = 25\n"
    with (
        lab_server(tmp_path, hub_environment(governor.url), config=patient) as server,
        Page(server.url) as page,
    ):
        page.until(lambda state: state["link"] == "live")
        before = time.monotonic()
        governor.change(lease=without_gpu(a_lease(datetime.now(UTC))))
        state = page.until(lambda state: not state["view"]["lease"]["devices"])
        assert time.monotonic() - before < 10, "the poll lasts 25 s"
    assert state["view"]["cost"]["so_far_micro"] is None
    assert state["view"]["cost"]["so_far_text"] == "not priced"


def test_nobody_unknown_reads_and_a_guest_learns_only_whose_server_it_is(
    server: LabServer,
) -> None:
    assert call("GET", f"{server.url}/gpu-commons/stream").status == 403
    with Page(server.url, GUEST_TOKEN) as page:
        state = page.next()
    assert state["link"] == "guest"
    assert state["words"] == "alice"
    assert state["view"] is None


def test_a_guest_changes_nothing(server: LabServer, governor: LabGovernor) -> None:
    for verb in ("stop", "keep", "extend", "switch", "stay"):
        status, said = ask(server, verb, {"seconds": 60}, GUEST_TOKEN)
        assert (status, said["code"]) == (403, "not-owner")
        assert "alice" in said["message"]
    assert call("POST", f"{server.url}/gpu-commons/stop").status == 403
    shown = call("GET", f"{server.url}/gpu-commons/profiles", token=GUEST_TOKEN)
    assert (shown.status, shown.json["code"]) == (403, "not-owner")
    assert call("GET", f"{server.url}/gpu-commons/profiles").status == 403
    assert governor.calls == []


def test_the_owner_sees_other_profiles_asks_for_one_and_leaves_it_again(
    server: LabServer, governor: LabGovernor
) -> None:
    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        answer = call("GET", f"{server.url}/gpu-commons/profiles", token=OWNER_TOKEN)
        assert (answer.status, TOKEN in str(answer.json)) == (200, False)
        plain, card = answer.json["offers"]
        assert (plain["standing"], card["price_text"]) == ("unmetered", "EUR 4.20 an hour")
        assert ask(server, "stay")[1]["code"] == "no-change"
        assert ask(server, "switch", {"choice": card["choice"]}) == (202, {"accepted": "switch"})
        state = page.until(lambda state: state["view"]["change"] is not None)
        assert state["view"]["change"]["title"] == "Whole card"
        assert "number 2" in state["view"]["change"]["words"]
        assert ask(server, "stay") == (202, {"accepted": "stay"})
        page.until(lambda state: state["view"]["change"] is None)
    assert governor.calls == [("switch", {"choice": card["choice"]}), ("cancel", {})]


@pytest.mark.parametrize("body", [{}, {"choice": "card"}, {"choice": None}, ["x"], b"{"])
def test_a_change_names_a_choice(server: LabServer, governor: LabGovernor, body: object) -> None:
    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        answer = call("POST", f"{server.url}/gpu-commons/switch", token=OWNER_TOKEN, body=body)
    assert (answer.status, answer.json["code"]) == (400, "bad-choice")
    assert governor.calls == []


def test_profiles_that_cannot_be_told_are_refused_in_words(
    server: LabServer, governor: LabGovernor
) -> None:
    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        governor.change(silent=True)
        answer = call("GET", f"{server.url}/gpu-commons/profiles", token=OWNER_TOKEN)
    assert (answer.status, answer.json["code"]) == (503, "governor-unreachable")


def test_the_owner_extends_keeps_and_stops(server: LabServer, governor: LabGovernor) -> None:
    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        assert ask(server, "extend", {"seconds": 1800}) == (202, {"accepted": "extend"})
        assert ask(server, "keep") == (202, {"accepted": "keep"})
        assert ask(server, "stop") == (202, {"accepted": "stop"})
        page.until(lambda state: state["view"]["lease"]["state"] == "stopping")
    assert governor.calls == [("extend", {"seconds": 1800}), ("keep", {}), ("stop", {})]


@pytest.mark.parametrize(
    "body", [{}, {"seconds": 0}, {"seconds": -5}, {"seconds": 1.5}, {"seconds": True}, ["x"], b"{"]
)
def test_an_extension_is_whole_seconds(
    server: LabServer, governor: LabGovernor, body: object
) -> None:
    answer = call("POST", f"{server.url}/gpu-commons/extend", token=OWNER_TOKEN, body=body)
    assert answer.status == 400
    assert answer.json["code"] == "bad-extension"
    assert governor.calls == []


def test_a_refusal_of_the_governor_arrives_in_its_words(
    server: LabServer, governor: LabGovernor
) -> None:
    words = "The longest lifetime is 8h; 30m are left to extend by."
    governor.refusal = Problem(title="No", status=409, detail=words, code="too-long")
    with Page(server.url):
        status, said = ask(server, "extend", {"seconds": 86400})
    assert (status, said["code"], said["message"]) == (409, "too-long", words)


def test_a_governor_that_is_away_leaves_the_last_figures_and_says_so(
    server: LabServer, governor: LabGovernor
) -> None:
    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        governor.change(silent=True)
        state = page.until(lambda state: state["link"] == "stale")
        assert state["view"]["lease"]["team"] == "vision"
        assert state["since"] is not None
        status, said = ask(server, "stop")
        assert (status, said["code"]) == (503, "governor-unreachable")
        assert "nothing was changed" in said["message"]
        governor.change(silent=False)
        page.until(lambda state: state["link"] == "live")


def test_a_governor_that_will_not_show_the_lease_is_quoted(
    server: LabServer, governor: LabGovernor
) -> None:
    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        governor.change(
            refusal=Problem(title="No", status=403, detail="scope missing", code="forbidden")
        )
        state = page.until(lambda state: state["link"] == "refused")
    assert state["words"] == "scope missing"


def test_without_an_open_lease_nothing_can_be_stopped(
    server: LabServer, governor: LabGovernor
) -> None:
    gone = a_lease(datetime.now(UTC), cause=Cause.lost)
    with Page(server.url) as page:
        governor.change(lease=None, ended=gone)
        state = page.until(lambda state: state["view"] and state["view"]["lease"] is None)
        assert state["view"]["ended"]["cause"] == "lost"
        status, said = ask(server, "stop")
    assert (status, said["code"]) == (409, "no-lease")


def test_a_person_may_have_a_few_pages_and_closed_ones_count_no_more(server: LabServer) -> None:
    pages = [Page(server.url) for _ in range(3)]
    try:
        assert [page.status for page in pages] == [200, 200, 200]
        with Page(server.url) as fourth:
            assert fourth.status == 429
        with Page(server.url, GUEST_TOKEN) as guests:
            assert guests.status == 200
    finally:
        for page in pages:
            page.__exit__(None, None, None)
    deadline = time.monotonic() + 15
    status = 0
    while status != 200 and time.monotonic() < deadline:
        with Page(server.url) as again:
            status = again.status
    assert status == 200


def test_a_quiet_stream_shows_that_it_lives(server: LabServer, governor: LabGovernor) -> None:
    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        governor.change(silent=True)
        page.until(lambda state: state["link"] == "stale")
        before = page.beats
        time.sleep(2.5)
        governor.change(silent=False)
        page.next()
    assert page.beats - before >= 1


def test_a_guest_gets_signs_of_life_and_nothing_else(
    server: LabServer, governor: LabGovernor
) -> None:
    with Page(server.url, GUEST_TOKEN) as page:
        page.next()
        governor.change(ended=None)
        assert [page.line()["kind"] for _ in range(3)] == ["beat"] * 3


def test_watching_does_not_make_the_server_look_busy(server: LabServer) -> None:
    def last() -> str:
        answer = call("GET", f"{server.url}/api/status", token=OWNER_TOKEN)
        return str(answer.json["last_activity"])

    before = last()
    with Page(server.url) as page:
        page.next()
    ask(server, "keep")
    time.sleep(0.3)
    assert last() == before


def test_the_rhythm_is_slower_while_no_page_watches(
    server: LabServer, governor: LabGovernor
) -> None:
    def asks_with(wait_s: int) -> bool:
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            if governor.asks[-1][1] == wait_s:
                return True
            time.sleep(0.05)
        return False

    with Page(server.url) as page:
        page.until(lambda state: state["link"] == "live")
        assert asks_with(1)
    assert asks_with(25)
