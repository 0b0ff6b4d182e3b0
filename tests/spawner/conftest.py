"""A fake governor, and real spawners with a real hub database's user, without a hub."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyterhub import orm
from jupyterhub.objects import Hub
from jupyterhub.user import User

from spawner import client as client_module
from spawner.local import GovernedLocalSpawner
from tests.support.governor import TOKEN, FakeGovernor

TINY = Path(__file__).parents[1] / "support" / "tiny_server.py"
MakeSpawner = Callable[..., GovernedLocalSpawner]


@pytest.fixture
def governor() -> Iterator[FakeGovernor]:
    with FakeGovernor.running() as fake:
        yield fake


@pytest.fixture
def make_spawner(governor: FakeGovernor, tmp_path: Path) -> Iterator[MakeSpawner]:
    """Make spawners as the hub does: from the database's row, with its state; end what they ran."""
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN)
    db = orm.new_session_factory("sqlite:///:memory:")()
    group = orm.Group(name="vision")
    made: list[GovernedLocalSpawner] = []

    def make(user: str = "ada", server: str = "", **changes: Any) -> GovernedLocalSpawner:
        row = db.query(orm.User).filter_by(name=user).one_or_none()
        if row is None:
            row = orm.User(name=user)
            row.groups.append(group)
            db.add(row)
            db.commit()
        person = User(row, {"base_url": "/"})
        if server not in person.orm_spawners:
            person._new_orm_spawner(server, server)
        settings = {
            "hub": Hub(),
            "cmd": [sys.executable, str(TINY)],
            "governor_url": governor.url,
            "token_file": str(token_file),
            "state_dir": str(tmp_path / "state"),
            "interrupt_timeout": 3,
            "term_timeout": 3,
            "left_behind_timeout": 2.0,
            **changes,
        }
        kind = settings.pop("kind", GovernedLocalSpawner)
        settings = {
            name: value for name, value in settings.items() if kind.class_traits().get(name)
        }
        spawner: GovernedLocalSpawner = person._new_spawner(server, spawner_class=kind, **settings)
        spawner.clear_state()
        spawner.api_token = "a" * 32
        made.append(spawner)
        return spawner

    yield make
    for client in client_module._CLIENTS.values():
        client.outbox.close()
    client_module._CLIENTS.clear()
    for spawner in made:
        for trace in (spawner.trace, spawner.former):
            if trace is not None and trace.process is not None:
                _end(trace.process.pid)
    db.close()


def _end(pid: int) -> None:
    if pid in {child.pid for child in psutil.Process().children()}:
        process = psutil.Process(pid)
        for one in [*process.children(recursive=True), process]:
            one.kill()
        process.wait(5)
