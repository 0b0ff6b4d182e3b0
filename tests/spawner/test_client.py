"""The governor answers, refuses, stumbles, is slow or away; each has one clear outcome."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.lease import (
    Ask,
    AttemptId,
    Choice,
    Liveness,
    Problem,
    ProfileName,
    Report,
    ReportKind,
    ServerKey,
    UserName,
)
from spawner.client import GovernorClient
from tests.support.governor import TOKEN, FakeGovernor, offer


@pytest.fixture
def client(governor: FakeGovernor) -> Iterator[GovernorClient]:
    client = GovernorClient(governor.url, TOKEN, timeout_s=1.0)
    yield client
    client.outbox.close()


def an_ask(attempt: str = "attempt-1", user: str = "ada", profile: str = "mig-small") -> Ask:
    return Ask(
        attempt_id=attempt,
        key=ServerKey(user=UserName(user)),
        groups=("vision",),
        choice=Choice(profile=ProfileName(profile)),
    )


def an_end(user: str = "ada") -> Report:
    return Report(kind=ReportKind.ended, key=ServerKey(user=UserName(user)), liveness=Liveness.gone)


def test_a_report_that_waited_says_how_long(client: GovernorClient, governor: FakeGovernor) -> None:
    governor.fail_next = 2
    client.report(AttemptId("attempt-1"), an_end())
    (told,) = governor.wait_for_reports(1)
    assert 150 <= told.age_ms < 5000


def test_an_ask_is_answered_with_a_grant(client: GovernorClient) -> None:
    grant = asyncio.run(client.ask(an_ask()))
    assert [device.mig_profile for device in grant.devices] == ["1g.18gb"]


def test_a_refusal_comes_with_code_words_and_when_to_ask_again(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    governor.room = 0
    with pytest.raises(RefusedError) as caught:
        asyncio.run(client.ask(an_ask()))
    assert (caught.value.code, caught.value.status, caught.value.retry_after_s) == (
        "would-queue",
        409,
        60,
    )
    assert caught.value.message.startswith("0 of 0 devices are held")


def test_a_governor_that_stumbles_once_is_asked_again_with_the_same_attempt(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    governor.fail_next = 2
    asyncio.run(client.ask(an_ask()))
    assert [ask.attempt_id for ask in governor.asks] == ["attempt-1"]


def test_all_tries_together_keep_to_the_time(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    for trouble in ({"fail_next": 1000}, {"fail_next": 0, "delay_s": 20.0}):
        for name, value in trouble.items():
            setattr(governor, name, value)
        started = time.monotonic()
        with pytest.raises(UnreachableError):
            asyncio.run(client.ask(an_ask()))
        assert time.monotonic() - started < 1.5


def test_a_governor_that_is_away_is_unreachable(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    with governor.away(), pytest.raises(UnreachableError, match="no answer from the governor"):
        asyncio.run(client.offers(UserName("ada"), ("vision",)))
    assert len(asyncio.run(client.offers(UserName("ada"), ("vision",))).offers) == 2


def test_nonsense_and_a_wrong_token_are_no_answer_to_a_person(governor: FakeGovernor) -> None:
    wrong = GovernorClient(governor.url, "0" * 64, timeout_s=0.5)
    with pytest.raises(UnreachableError, match="401"):
        asyncio.run(wrong.ask(an_ask()))
    governor.nonsense = True
    right = GovernorClient(governor.url, TOKEN, timeout_s=0.5)
    with pytest.raises(UnreachableError, match="something else than a Grant"):
        asyncio.run(right.ask(an_ask()))


def test_a_token_without_its_scope_is_the_sites_fault(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    governor.refuse_with = Problem(title="Forbidden", status=403, detail="no", code="not-allowed")
    with pytest.raises(UnreachableError, match="403"):
        asyncio.run(client.ask(an_ask()))


def test_offers_are_asked_for_a_person_with_groups(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    governor.offers = [offer("cpu", title="<b>small</b>")]
    sheet = asyncio.run(client.offers(UserName("ada & bob"), ("vision", "a/b")))
    assert sheet.user == "ada & bob"
    assert sheet.offers[0].title == "<b>small</b>"


def test_fifty_asks_at_once_are_all_answered_in_time(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    governor.room = 3

    async def all_at_once() -> list[object]:
        asks = (client.ask(an_ask(f"attempt-{i:02}", f"user-{i}")) for i in range(50))
        return list(await asyncio.gather(*asks, return_exceptions=True))

    answers = asyncio.run(all_at_once())
    assert sum(isinstance(answer, RefusedError) for answer in answers) == 47
    assert len(governor.grants) == 3


def test_a_report_is_delivered_when_the_governor_is_back(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    with governor.away():
        client.report(AttemptId("attempt-1"), an_end("ada"))
        client.report(AttemptId("attempt-2"), an_end("bob"))
        assert not client.outbox.drain(0.3)
    assert client.outbox.drain(10)
    assert [attempt for attempt, _ in governor.reports] == ["attempt-1", "attempt-2"]


def test_a_start_without_the_governor_is_recorded_before_its_reports(
    client: GovernorClient, governor: FakeGovernor
) -> None:
    with governor.away():
        client.ask_later(an_ask(profile="cpu"))
        client.report(AttemptId("attempt-1"), an_end())
    assert client.outbox.drain(10)
    assert [ask.attempt_id for ask in governor.asks] == ["attempt-1"]
    assert governor.grants == {}
