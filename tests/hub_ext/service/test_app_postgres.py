"""The governor as a process whose ledger is in a PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub_ext.service.test_app import PATIENCE_S, Process, running
from tests.support.ledger_places import Place
from tests.support.postgres import PostgresServer


@pytest.fixture
def where(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    place = Place(tmp_path / "state", postgres)
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", place.url or "")
    yield place
    place.drop()


def secrets_in(process: Process, secret: str) -> list[str]:
    """Where a password of the ledger shows."""
    shown = [process.out.read_text(), *map(str, (process.health() or {}).values())]
    shown.append(Path(f"/proc/{process.child.pid}/cmdline").read_text())
    return [words for words in shown if secret in words]


def test_a_governor_whose_lock_is_lost_ends_and_the_next_one_goes_on(
    where: Place, tmp_path: Path
) -> None:
    assert where.server is not None
    with running(tmp_path) as first:
        first.until("policy", present=False)
        assert secrets_in(first, where.server.password) == []
        assert where.lose("governor") == 1
        assert first.child.wait(timeout=PATIENCE_S) == 1
        assert "holds the lock of postgresql://governor@127.0.0.1" in first.out.read_text()
        assert where.server.password not in first.out.read_text()
    with running(tmp_path) as second:
        assert second.until("policy", present=False)["policy_generation"] == 1
    assert where.verify().difference == ""
    assert not (where.state / "ledger.sqlite").exists()


def test_a_password_may_lie_in_a_file_of_its_own(
    where: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert where.server is not None
    secret = where.server.password
    passwords = tmp_path / "passwords"
    passwords.touch(mode=0o600)
    passwords.write_text(f"127.0.0.1:*:books:governor:{secret}\n")
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", (where.url or "").replace(f":{secret}", ""))
    with running(tmp_path) as governor:
        governor.until("policy", present=False)
    assert where.verify().difference == ""


def test_while_its_server_is_away_it_ends_and_says_so_and_comes_back_with_it(
    where: Place, tmp_path: Path
) -> None:
    server = where.server
    assert server is not None
    with running(tmp_path) as first:
        first.until("policy", present=False)
        server.stop()
        try:
            assert first.child.wait(timeout=PATIENCE_S) == 1
            with running(tmp_path) as second:
                assert second.child.wait(timeout=PATIENCE_S) == 1
                assert "See that the server runs" in second.out.read_text()
        finally:
            server.start()
    with running(tmp_path) as third:
        assert third.until("policy", present=False)["policy_generation"] == 1
    assert where.verify().difference == ""
