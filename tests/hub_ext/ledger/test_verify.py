"""Whatever happened, the events alone give the same books; and a changed row is named."""

import hashlib
import shutil
import sqlite3
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hub_ext.cli import main
from hub_ext.errors import LedgerError
from hub_ext.lease import (
    EDGES,
    GOVERNOR,
    Event,
    LeaseId,
    LeaseState,
    OpenLease,
    ServerKey,
    UserName,
)
from hub_ext.ledger.store import FILE, Ledger
from hub_ext.ledger.verify import verify
from tests.support.ledger_parts import NOON, SECOND, a_device, a_lease, a_posting
from tests.support.ledger_places import Place
from tests.support.postgres import PostgresServer

names = st.sampled_from(["ann", "bob", "cem"])
devices = st.lists(st.sampled_from(["GPU-a", "GPU-b", "GPU-c"]), max_size=2, unique=True)


class Books(RuleBasedStateMachine):
    """Anything in any order, errors and crashes included, beside a plain model."""

    server: PostgresServer | None = None

    def __init__(self) -> None:
        super().__init__()
        self.where = Place(Path(tempfile.mkdtemp()), self.server)
        self.ledger = self.where.open()
        self.model: dict[str, OpenLease] = {}
        self.charged: dict[str, int] = {}
        self.number = 0

    def teardown(self) -> None:
        report = self.where.verify()
        self.ledger.close()
        self.where.drop()
        shutil.rmtree(self.where.state)
        assert report.difference == ""
        assert report.open_leases == len(self.model)

    @rule(user=names, holds=devices, state=st.sampled_from(LeaseState))
    def begin(self, user: str, holds: list[str], state: LeaseState) -> None:
        self.number += 1
        self._record(
            a_lease(
                f"L{self.number}",
                state,
                key=ServerKey(user=UserName(user)),
                devices=tuple(map(a_device, holds)),
                requested_at=NOON + self.number * SECOND,
            )
        )

    @rule(number=st.integers(1, 8), state=st.sampled_from(LeaseState), priority=st.integers(0, 9))
    def step(self, number: int, state: LeaseState, priority: int) -> None:
        lease = self.model.get(f"L{number}")
        if lease:
            self._record(lease.model_copy(update={"state": state, "priority": priority}))

    def _record(self, lease: OpenLease) -> None:
        try:
            with self.ledger.transaction() as tx:
                tx.record(lease, actor=GOVERNOR, at=NOON)
        except LedgerError:
            return
        former = self.model.get(lease.id)
        assert former is None or lease.state in EDGES[former.state] | {former.state}
        if lease.open:
            self.model[lease.id] = lease
        else:
            del self.model[lease.id]

    @rule(number=st.integers(1, 8), length=st.integers(0, 99))
    def charge(self, number: int, length: int) -> None:
        name = f"L{number}"
        start = self.charged.get(name, 0)
        with suppress(LedgerError), self.ledger.transaction() as tx:
            tx.post([a_posting(name, start, start + length)], at=NOON)
            self.charged[name] = start + length

    # No policy file has NUL in it, and PostgreSQL keeps none in text.
    @rule(text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
    def policy(self, text: str) -> None:
        with self.ledger.transaction() as tx:
            tx.add_generation(
                text=text,
                sha256=hashlib.sha256(text.encode()).hexdigest(),
                summary="changed",
                at=NOON,
                actor=GOVERNOR,
            )

    @rule(number=st.integers(1, 8), minute=st.integers(0, 60))
    def heartbeat(self, number: int, minute: int) -> None:
        with self.ledger.transaction() as tx:
            tx.seen([LeaseId(f"L{number}")], at=NOON + timedelta(minutes=minute))

    @rule(user=names)
    def fail_half_way(self, user: str) -> None:
        lease = a_lease("L-lost", key=ServerKey(user=UserName(f"{user}-other")))
        with suppress(ZeroDivisionError), self.ledger.transaction() as tx:
            tx.record(lease, actor=GOVERNOR, at=NOON)
            tx.post([a_posting("L-lost")], at=NOON)
            raise ZeroDivisionError

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.where.open()

    @invariant()
    def books_agree(self) -> None:
        with self.ledger.transaction() as tx:
            found = {
                lease.id: lease.model_copy(update={"last_seen_at": None}) for lease in tx.leases()
            }
        assert found == self.model
        holds = [device.id for lease in found.values() if lease.holding for device in lease.devices]
        assert len(holds) == len(set(holds))


def test_the_books_agree_with_their_events_whatever_happens(where: Place) -> None:
    class Here(Books):
        server = where.server

    run_state_machine_as_test(
        Here, settings=settings(max_examples=10, stateful_step_count=20, deadline=None)
    )


@pytest.fixture
def full(where: Place) -> Place:
    """A ledger with something in every table."""
    ledger = where.open()
    with ledger.transaction() as tx:
        for name in ("L1", "L2"):
            for state in (LeaseState.requested, LeaseState.starting, LeaseState.running):
                tx.record(a_lease(name, state), actor=GOVERNOR, at=NOON)
        tx.record(a_lease("L2", LeaseState.closed), actor=GOVERNOR, at=NOON)
        tx.post([a_posting("L2"), a_posting("L2", 3600, 7200)], at=NOON)
        sha256 = hashlib.sha256(b"version: 1").hexdigest()
        tx.add_generation(
            text="version: 1", sha256=sha256, summary="first", at=NOON, actor=GOVERNOR
        )
        tx.append(Event(kind="admin.note", at=NOON, body={"words": "end"}))
    ledger.close()
    return where


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE event SET body = replace(body, 'vision', 'speech') WHERE seq = 2", "event 2 was"),
        ("UPDATE event SET at = at + 1 WHERE seq = 10", "event 10 was changed"),
        ("DELETE FROM event WHERE seq = 5", "event 5 is missing"),
        ("UPDATE event SET chain = 'x' WHERE seq = 3", "event 3 was changed"),
        ("DELETE FROM open_lease", "open lease L1 differs"),
        ("UPDATE open_lease SET state = 'stopping'", "open lease L1 differs"),
        ("UPDATE open_lease SET body = replace(body, '840', '420')", "open lease L1 differs"),
        ("UPDATE open_lease SET body = '{}'", "open lease L1 differs"),
        ("DELETE FROM device_hold", "held device GPU-of-L1, L1 is missing"),
        ("INSERT INTO device_hold VALUES ('GPU-x', 'L1')", "held device GPU-x, L1 has no event"),
        ("DELETE FROM last_ended", "last ended lease hub, user-L2, , 7 is missing"),
        ("UPDATE posting SET amount_micro = 1 WHERE line = 1", "charge 1 of event 8"),
        ("DELETE FROM posting WHERE line = 1", "charge 1 of event 8"),
        (
            (
                "INSERT INTO posting SELECT seq, 2, 'L9', user_name, server_name, team, project, "
                "profile, pool, flavor, units, standing, start_at, end_at, seconds, "
                "price_micro_per_hour, amount_micro, currency, cause, corrects, bounded "
                "FROM posting WHERE line = 0"
            ),
            "charge 2 of event 8",
        ),
        ("UPDATE policy_generation SET text = 'version: 2'", "text of policy generation 1"),
        ("UPDATE policy_generation SET summary = 'none'", "policy generation 1"),
    ],
)
def test_each_changed_row_is_named(full: Place, change: str, words: str) -> None:
    assert full.verify().difference == ""
    with full.raw(guarded=False) as thief:
        assert thief.execute(change).rowcount > 0
    assert words in full.verify().difference


def test_the_command_says_ok_beside_a_governor_and_alone(
    full: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", full.url or "")
    assert main(["ledger", "verify", "--state", str(full.state)]) == 0
    assert capsys.readouterr().out.startswith("ok: 10 events, 1 open lease; chain ")
    monkeypatch.setenv("GPU_COMMONS_STATE", str(full.state))
    ledger = full.open()
    with ledger.transaction() as tx:
        tx.append(Event(kind="admin.note", at=NOON, body={}))
        # What is not committed yet is not seen, and nobody waits.
        assert main(["ledger", "verify"]) == 0
        assert capsys.readouterr().out.startswith("ok: 10 events")
    assert main(["ledger", "verify"]) == 0
    assert capsys.readouterr().out.startswith("ok: 11 events")
    ledger.close()


def test_the_command_exits_1_with_the_first_difference(
    full: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", full.url or "")
    with full.raw() as thief:
        thief.execute("DELETE FROM device_hold")
    assert main(["ledger", "verify", "--state", str(full.state)]) == 1
    assert "held device GPU-of-L1" in capsys.readouterr().out


def test_the_command_refuses_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GPU_COMMONS_STATE", raising=False)
    assert main(["ledger", "verify"]) == 1
    assert "--state" in capsys.readouterr().err
    assert main(["ledger", "verify", "--state", str(tmp_path)]) == 1
    assert "no ledger" in capsys.readouterr().err
    (tmp_path / FILE).write_bytes(b"nonsense" * 1000)
    assert main(["ledger", "verify", "--state", str(tmp_path)]) == 1
    assert "damaged" in capsys.readouterr().out
    (tmp_path / FILE).unlink()
    sqlite3.connect(tmp_path / FILE).execute("CREATE TABLE other (id INTEGER)").connection.close()
    assert main(["ledger", "verify", "--state", str(tmp_path)]) == 1
    assert "older version" in capsys.readouterr().err


def test_reading_changes_nothing_on_disk(tmp_path: Path) -> None:
    Ledger.open(tmp_path).close()
    before = (tmp_path / FILE).read_bytes()
    verify(tmp_path / FILE)
    assert (tmp_path / FILE).read_bytes() == before
