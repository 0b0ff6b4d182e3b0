"""An announced stop becomes one event on Jupyter's bus, and so does its withdrawal."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from jupyter_events import EventLogger
from tornado.ioloop import IOLoop
from tornado.websocket import websocket_connect

from hub_ext.lease import Cause, LeaseState, LeaseView, Notice, OpenLease, Reason
from labextension.notices import SCHEMA, SCHEMA_ID, NoticeWatch
from tests.support.lab_governor import LabGovernor, a_lease
from tests.support.lab_identity import OWNER_TOKEN
from tests.support.lab_server import LabServer

NOW = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)


def a_notice(cause: Cause = Cause.culled, left_s: int = 300) -> Notice:
    return Notice(
        cause=cause,
        given_at=NOW,
        stops_at=NOW + timedelta(seconds=left_s),
        reason=Reason(code=cause.value, message="The GPU was idle for 30m."),
    )


def a_view(lease: OpenLease | None) -> LeaseView:
    return LeaseView(seq=1, now=NOW, server=a_lease(NOW).key, lease=lease)


def noticed(notice: Notice | None, state: LeaseState = LeaseState.noticed) -> LeaseView:
    return a_view(a_lease(NOW, notice=notice, state=state))


def test_a_notice_is_told_once() -> None:
    watch = NoticeWatch()
    assert watch.compare(noticed(None, LeaseState.running)) is None
    event = watch.compare(noticed(a_notice()))
    assert event is not None
    assert (event["kind"], event["cause"], event["left_s"]) == ("given", "culled", 300)
    assert event["words"] == "The GPU was idle for 30m."
    # A page hears of it on the stream as well and must see that it is the same.
    streamed = json.loads(noticed(a_notice()).model_dump_json())["lease"]["notice"]
    assert (event["given_at"], event["stops_at"]) == (streamed["given_at"], streamed["stops_at"])
    assert watch.compare(noticed(a_notice())) is None


def test_another_notice_is_told_as_another() -> None:
    watch = NoticeWatch()
    watch.compare(noticed(a_notice()))
    event = watch.compare(noticed(a_notice(Cause.preempted, 120)))
    assert event is not None
    assert (event["kind"], event["cause"]) == ("given", "preempted")


def test_a_withdrawal_is_told_but_the_stop_itself_is_none() -> None:
    watch = NoticeWatch()
    watch.compare(noticed(a_notice()))
    event = watch.compare(noticed(None, LeaseState.running))
    assert event is not None
    assert (event["kind"], event["cause"]) == ("withdrawn", "culled")
    watch.compare(noticed(a_notice()))
    assert watch.compare(noticed(None, LeaseState.stopping)) is None
    watch.compare(noticed(a_notice()))
    assert watch.compare(a_view(None)) is None


def test_every_event_fits_the_schema() -> None:
    bus = EventLogger()
    bus.register_event_schema(SCHEMA)
    watch = NoticeWatch()
    for view in (noticed(a_notice()), noticed(None, LeaseState.running)):
        event = watch.compare(view)
        assert event is not None
        bus.schemas.validate_event(SCHEMA_ID, event)


class Bus:
    """A page's websocket to the event bus, read step by step."""

    def __init__(self, url: str) -> None:
        self._loop = IOLoop(make_current=False)
        self._socket = self._loop.run_sync(lambda: websocket_connect(url), timeout=10)

    def next(self) -> dict[str, object]:
        """The next event, within ten seconds."""
        message = self._loop.run_sync(self._socket.read_message, timeout=10)
        event: dict[str, object] = json.loads(message or "null")
        return event

    def close(self) -> None:
        """Leave the bus; on its own loop, for closing sends a frame."""

        async def leave() -> None:
            self._socket.close()

        self._loop.run_sync(leave, timeout=10)
        self._loop.close()


@pytest.fixture
def bus(server: LabServer) -> Iterator[Bus]:
    url = server.url.replace("http", "ws", 1)
    page = Bus(f"{url}/api/events/subscribe?token={OWNER_TOKEN}")
    yield page
    page.close()


def test_the_event_reaches_every_page_of_the_server_over_the_bus(
    bus: Bus, governor: LabGovernor
) -> None:
    words = "Nothing ran on the GPU for 30m."
    governor.announce(Cause.culled, words, in_s=120)
    given = bus.next()
    governor.call_off()
    withdrawn = bus.next()
    assert given["schema_id"] == SCHEMA_ID
    assert (given["kind"], given["words"]) == ("given", words)
    assert 110 <= int(str(given["left_s"])) <= 120
    assert withdrawn["kind"] == "withdrawn"
