"""The governor as a process: it starts, follows its policy file, and leaves in order."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from tornado.testing import bind_unused_port

from tests.support.fake_kube_api import FakeKube
from tests.support.governing import POLICY
from tests.support.identities import PREFIX

PATIENCE_S = 60
ROOT = Path(__file__).parents[3]


def free_port() -> int:
    socket, port = bind_unused_port()
    socket.close()
    return int(port)


class Process:
    """One governor's process."""

    def __init__(
        self,
        folder: Path,
        port: int,
        *,
        wrapper: tuple[str, ...] = (),
        settings: tuple[str, ...] = (),
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.out = folder / f"out-{time.monotonic_ns()}"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "GPU_COMMONS_STATE": str(folder / "state"),
            "GPU_COMMONS_POLICY": str(folder / "policy.yaml"),
            "GPU_COMMONS_POLICY_POLL_S": "0.2",
            "GPU_COMMONS_TAKEOVER_S": "1",
            "JUPYTERHUB_SERVICE_URL": self.url,
            "JUPYTERHUB_SERVICE_PREFIX": PREFIX,
            "JUPYTERHUB_API_URL": "http://127.0.0.1:1/hub/api",
            "JUPYTERHUB_API_TOKEN": "t" * 64,
            "JUPYTERHUB_CLIENT_ID": "service-gpu-commons",
            **dict(one.split("=", 1) for one in settings),
        }
        with self.out.open("w") as out:
            self.child = subprocess.Popen(
                [*wrapper, sys.executable, "-m", "hub_ext", "governor"],
                env=environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def health(self) -> dict[str, object] | None:
        """Ask for its health; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"{self.url}{PREFIX}healthz", timeout=5) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            found = json.load(error)
        except OSError:
            return None
        assert isinstance(found, dict)
        return found

    def until(self, words: str, *, present: bool = True) -> dict[str, object]:
        """Wait until its health does or does not tell of a problem with this code."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            health = self.health()
            if health is not None:
                problems = health["problems"]
                assert isinstance(problems, list)
                if (words in {one["code"] for one in problems}) is present:
                    return health
            time.sleep(0.1)
        raise AssertionError(self.out.read_text())

    def end(self) -> None:
        """End it and whatever is in its group."""
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait(timeout=PATIENCE_S)


@contextmanager
def running(folder: Path, port: int | None = None, **how: tuple[str, ...]) -> Iterator[Process]:
    (folder / "policy.yaml").write_text(POLICY)
    process = Process(folder, port or free_port(), **how)
    try:
        yield process
    finally:
        process.end()


def test_it_serves_follows_its_file_and_ends_on_sigterm(tmp_path: Path) -> None:
    with running(tmp_path) as governor:
        health = governor.until("policy", present=False)
        assert health["policy_generation"] == 1
        file = tmp_path / "policy.yaml"
        file.write_text("nonsense: [")
        health = governor.until("policy")
        assert (health["policy_generation"], health["status"]) == (1, "degraded")
        file.write_text(POLICY.replace('nominal: "2"', 'nominal: "1"'))
        health = governor.until("policy", present=False)
        assert health["policy_generation"] == 2
        file.unlink()
        governor.until("policy")
        governor.child.send_signal(signal.SIGTERM)
        assert governor.child.wait(timeout=PATIENCE_S) == 0


@dataclass
class AskedKube(FakeKube):
    """An API that knows how often it was asked, and on how many connections."""

    asked: int = 0
    connections: set[str] = field(default_factory=set)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        self.asked += 1
        self.connections.add(str(request.transport.get_extra_info("peername")))
        return await super()._list(request)


def test_on_kubernetes_it_leaves_no_connection_to_the_api_open(tmp_path: Path) -> None:
    with AskedKube.running(tmp_path / "kubeconfig") as kube:
        assert isinstance(kube, AskedKube)
        settings = (
            "GPU_COMMONS_SERVERS=pods",
            f"GPU_COMMONS_KUBECONFIG={tmp_path / 'kubeconfig'}",
            "GPU_COMMONS_RECONCILE_S=0.1",
        )
        with running(tmp_path, settings=settings) as governor:
            governor.until("policy", present=False)
            limit = time.monotonic() + PATIENCE_S
            while kube.asked < 20:
                assert time.monotonic() < limit, governor.out.read_text()
                time.sleep(0.1)
            governor.child.send_signal(signal.SIGTERM)
            assert governor.child.wait(timeout=PATIENCE_S) == 0
            assert "Unclosed" not in governor.out.read_text()
            # Namespaces are looked at side by side, and that each time on the same connections.
            assert len(kube.connections) <= 4


def test_with_a_broken_file_it_starts_on_the_last_good_policy(tmp_path: Path) -> None:
    with running(tmp_path) as governor:
        governor.until("policy", present=False)
        governor.child.send_signal(signal.SIGTERM)
        governor.child.wait(timeout=PATIENCE_S)
    (tmp_path / "policy.yaml").write_text("version: 2")
    again = Process(tmp_path, free_port())
    try:
        health = again.until("policy")
        assert (health["policy_generation"], health["status"]) == (1, "degraded")
    finally:
        again.end()


def test_of_two_governors_the_second_ends_and_says_who_holds_the_ledger(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        first.until("policy", present=False)
        second = Process(tmp_path, free_port())
        try:
            assert second.child.wait(timeout=PATIENCE_S) == 1
            assert str(first.child.pid) in second.out.read_text()
        finally:
            second.end()
        assert first.health() is not None


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time;"
        "child = subprocess.Popen(sys.argv[1:]);"
        "print(child.pid, flush=True);"
        "time.sleep(600)"
    )
    with running(tmp_path, wrapper=(sys.executable, "-c", code)) as governor:
        governor.until("policy", present=False)
        governor.child.kill()
        governor.child.wait(timeout=PATIENCE_S)
        limit = time.monotonic() + PATIENCE_S
        while governor.health() is not None and time.monotonic() < limit:
            time.sleep(0.1)
        assert governor.health() is None
        with running(tmp_path) as heir:
            heir.until("policy", present=False)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    socket, port = bind_unused_port()
    try:
        with running(tmp_path, port) as governor:
            assert governor.child.wait(timeout=PATIENCE_S) == 1
            assert "in use" in governor.out.read_text()
    finally:
        socket.close()


def test_rubbish_in_its_environment_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hub_ext", "governor"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "GPU_COMMONS_CYCLE_S": "often"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 1
    assert "GPU_COMMONS_CYCLE_S='often'" in done.stderr
    assert "Traceback" not in done.stderr
