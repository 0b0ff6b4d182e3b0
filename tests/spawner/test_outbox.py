"""Messages arrive in order and once, however ill the receiver is; none blocks the rest for ever."""

import pytest

from spawner import outbox
from spawner.outbox import Message, Outbox
from spawner.wire import Peer
from tests.support.governor import TOKEN, FakeGovernor


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(outbox, "_LONGEST_PAUSE_S", 0.02)


def message(attempt: str) -> Message:
    body = b'{"kind": "ended", "key": {"user": "ada"}, "liveness": "gone"}'
    return Message(f"attempts/{attempt}/reports", body, attempt)


def came(governor: FakeGovernor) -> list[str]:
    """Attempts in the order of their reports; what is answered after 20 ms is sent once more."""
    return list(dict.fromkeys(attempt for attempt, _ in governor.reports))


def test_order_is_kept_through_failures(governor: FakeGovernor) -> None:
    governor.fail_next = 7
    box = Outbox(Peer(governor.url, TOKEN), try_s=0.02)
    for number in range(5):
        box.put(message(f"attempt-{number}"))
    assert box.drain(10)
    assert came(governor) == [f"attempt-{n}" for n in range(5)]


def test_a_full_box_drops_the_oldest_and_says_so(
    governor: FakeGovernor, caplog: pytest.LogCaptureFixture
) -> None:
    with governor.away():
        box = Outbox(Peer(governor.url, TOKEN), most=3, try_s=0.02)
        for number in range(5):
            box.put(message(f"attempt-{number}"))
    assert box.drain(10)
    assert came(governor)[-3:] == [f"attempt-{n}" for n in (2, 3, 4)]
    assert "dropped: attempt-0" in caplog.text


def test_a_message_that_is_refused_or_always_fails_gives_way(
    governor: FakeGovernor, caplog: pytest.LogCaptureFixture
) -> None:
    box = Outbox(Peer(governor.url, TOKEN), try_s=0.02)
    box.put(Message("no-such-route", b"{}", "lost"))
    box.put(Message("attempts", b"no json", "poison"))
    box.put(message("attempt-9"))
    assert box.drain(20)
    assert came(governor) == ["attempt-9"]
    assert "did not take it (404): lost" in caplog.text
    assert "did not take it (500): poison" in caplog.text


def test_a_closed_box_takes_and_sends_nothing(governor: FakeGovernor) -> None:
    box = Outbox(Peer(governor.url, TOKEN))
    box.close()
    box.put(message("attempt-1"))
    assert box.drain(0)
    assert governor.reports == []
