"""A real JupyterHub with a real proxy for one test module, ended with all that came of it.

Hub, proxy, services and servers run below a cage process (`cage.py`) that outlives nothing: it
ends them when the test ends, fails, or is killed. Everything listens on free ports of 127.0.0.1.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

import psutil

from hub_ext.lease import OpenLease
from tests.support.hub_config import CONFIG
from tests.support.ports import free_port
from tests.support.web import Answer, Person, call

ROOT = Path(__file__).parents[2]
PROXY = ROOT / "node_modules/.bin/configurable-http-proxy"
HUB55 = ROOT / ".venv-hub55/bin/python"
TINY = ROOT / "tests/support/tiny_server.py"
TOKEN = "t" * 48
T = TypeVar("T")


@dataclass
class RealHub:
    """A running hub.

    Attributes
    ----------
    folder
        Everything of this hub: its database, its output (`hub.out`), the state directory `state`.
    url
        Public address, through the proxy, without a slash at the end.
    """

    folder: Path
    python: Path
    environment: dict[str, str]
    ports: dict[str, int]
    pid: int = 0
    _cage: subprocess.Popen[str] | None = field(default=None, repr=False)

    @classmethod
    @contextmanager
    def running(
        cls,
        folder: Path,
        *,
        extra: str = "",
        groups: Mapping[str, list[str]] | None = None,
        python: str | Path = sys.executable,
        tiny: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Iterator[Self]:
        """Run a hub for the length of a `with` block.

        Parameters
        ----------
        extra
            Python that ends the hub's configuration; `governed` writes the usual one.
        groups
            Members of the hub's groups, by group.
        python
            Interpreter of the hub, for example `HUB55`.
        tiny
            Start `tiny_server.py` in JupyterLab's place.
        """
        folder.mkdir(parents=True, exist_ok=True)
        ports = {name: free_port() for name in ("public", "hub", "proxy")}
        given = {
            name: value for name, value in os.environ.items() if not name.startswith("GPU_COMMONS_")
        }
        given.update(
            {
                "PYTHONPATH": str(ROOT),
                "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(folder / "home"),
                "PYTHONDONTWRITEBYTECODE": "",
                **(environment or {}),
            }
        )
        (folder / "home").mkdir(exist_ok=True)
        hub = cls(folder, Path(python), given, ports)
        command = f"c.Spawner.cmd = [{str(python)!r}, {str(TINY)!r}]" if tiny else ""
        members = {name: {"users": users} for name, users in (groups or {}).items()}
        (folder / "jupyterhub_config.py").write_text(
            CONFIG.format(
                ports=ports,
                proxy=str(PROXY),
                folder=str(folder),
                groups=members,
                token=TOKEN,
                tiny=command,
                extra=extra,
            )
        )
        with hub._caged():
            try:
                hub.start()
                yield hub
            except BaseException:
                sys.stderr.write(f"--- end of {folder / 'hub.out'}\n{hub.output()[-6000:]}\n")
                raise

    # --- the process ---------------------------------------------------------------------------

    @contextmanager
    def _caged(self) -> Iterator[None]:
        self._cage = subprocess.Popen(
            [sys.executable, "-S", str(ROOT / "tests/support/cage.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield
        finally:
            if self._cage.stdin:
                self._cage.stdin.close()
            try:
                self._cage.wait(30)
            finally:
                self._cage.kill()
                self._cage.wait()
                if self._cage.stdout:
                    self._cage.stdout.close()

    def launch(self, *argv: str, output: str = "hub.out", **environment: str) -> int:
        """Start a process that ends with this hub's test; returns its id."""
        assert self._cage
        assert self._cage.stdin
        assert self._cage.stdout
        order = {
            "argv": argv,
            "env": {**self.environment, **environment},
            "cwd": str(self.folder),
            "output": str(self.folder / output),
        }
        self._cage.stdin.write(json.dumps(order) + "\n")
        self._cage.stdin.flush()
        return int(self._cage.stdout.readline())

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a `gpu-commons` command beside the hub."""
        return subprocess.run(
            [self.python, "-P", "-m", "hub_ext", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self) -> None:
        """Start the hub (again) and wait until it answers through the proxy."""
        config = str(self.folder / "jupyterhub_config.py")
        self.pid = self.launch(str(self.python), "-m", "jupyterhub", "-f", config)

        def ready() -> bool:
            assert self.alive(), "the hub ended while it started"
            return call("GET", f"{self.url}/hub/health").status == 200

        self.wait(ready, "the hub to answer", seconds=120, every_s=0.5)

    def alive(self) -> bool:
        """Whether the hub's own process lives."""
        with suppress(psutil.NoSuchProcess):
            status: str = psutil.Process(self.pid).status()
            return status != psutil.STATUS_ZOMBIE
        return False

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send the hub a signal and wait until its process is gone."""
        os.kill(self.pid, number)
        self.wait(lambda: not self.alive(), "the hub to end", seconds=40)

    def output(self) -> str:
        """Everything that hub, proxy and services have written."""
        file = self.folder / "hub.out"
        return file.read_text(errors="replace") if file.exists() else ""

    def service(self, command: str) -> psutil.Process | None:
        """Find the running process of `gpu-commons COMMAND` of this hub."""
        for process in self.processes():
            with suppress(psutil.Error):
                words = process.cmdline()
                if words[-2:] == ["hub_ext", command] and process.status() != "zombie":
                    return process
        return None

    def healthy(self) -> bool:
        """Whether the governor is up and finds nothing wrong: policy in force, agent heard."""
        answer = call("GET", f"{self.url}/services/gpu-commons/healthz")
        return answer.status == 200 and answer.json["status"] == "ok"

    def processes(self) -> list[psutil.Process]:
        """Everything that lives below this hub's cage."""
        assert self._cage
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self._cage.pid).children(recursive=True)
        return []

    # --- addresses -----------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Public address."""
        return f"http://127.0.0.1:{self.ports['public']}"

    @property
    def state(self) -> Path:
        """State directory of a governed hub."""
        return self.folder / "state"

    def rest(self, method: str, path: str, body: object = None, *, token: str = TOKEN) -> Answer:
        """Call the hub's REST API with the harness' admin token, or another."""
        return call(method, f"{self.url}/hub/api{path}", token=token, body=body)

    def api(self, method: str, path: str, body: object = None, *, token: str = TOKEN) -> Answer:
        """Call the governor's API through the proxy."""
        url = f"{self.url}/services/gpu-commons/api/v1{path}"
        return call(method, url, token=token, body=body)

    def leases(self) -> dict[str, OpenLease]:
        """Open leases by `user/server`, as the governor's API shows them to an admin."""
        listed = [
            OpenLease.model_validate(one) for one in self.api("GET", "/leases").json["leases"]
        ]
        return {str(lease.key): lease for lease in listed}

    def events(self, *kinds: str) -> list[tuple[str, str | None, dict[str, Any]]]:
        """Kind, lease and body of all events on the ledger's file, or of some kinds."""
        query = "SELECT kind, lease_id, body FROM event ORDER BY seq"
        with closing(sqlite3.connect(f"file:{self.state}/ledger.sqlite?mode=ro", uri=True)) as file:
            rows = file.execute(query).fetchall()
        return [
            (kind, lease, json.loads(body))
            for kind, lease, body in rows
            if not kinds or kind in kinds
        ]

    def held_devices(self) -> list[str]:
        """Devices that are held now, by the ledger's file."""
        with closing(sqlite3.connect(f"file:{self.state}/ledger.sqlite?mode=ro", uri=True)) as file:
            return [device for (device,) in file.execute("SELECT device FROM device_hold")]

    def spawn_errors(self) -> dict[str, int]:
        """Starts that hub 6 has counted towards its own exit, by its reason.

        "exited" is measured beside a refusal that came after `slow_spawn_timeout`, not counted.
        """
        text = call("GET", f"{self.url}/hub/metrics").text
        pattern = (
            r"jupyterhub_server_spawn_duration_seconds_count"
            r'\{reason="([^"]*)",status="error"\} (\S+)'
        )
        counts = {reason: int(float(count)) for reason, count in re.findall(pattern, text)}
        return {reason: count for reason, count in counts.items() if count and reason != "exited"}

    # --- people and servers --------------------------------------------------------------------

    def person(self, name: str) -> Person:
        """Somebody who has logged in with the hub's form."""
        person = Person(self.url, name)
        answer = person.log_in()
        assert answer.status == 200, answer
        return person

    def user(self, name: str) -> dict[str, Any]:
        """The hub's model of a user, with their servers."""
        model: dict[str, Any] = self.rest(
            "GET", f"/users/{quote(name)}?include_stopped_servers"
        ).json
        return model

    def add_users(self, *names: str) -> None:
        """Make users that have never logged in."""
        answer = self.rest("POST", "/users", {"usernames": list(names)})
        assert answer.status in {201, 409}, answer

    def spawn(self, user: str, options: object = None, server: str = "") -> Answer:
        """Ask for a server by REST; the answer may come before it runs."""
        return self.rest("POST", _server_path(user, server), options)

    def stop(self, user: str, server: str = "") -> Answer:
        """Stop a server by REST."""
        return self.rest("DELETE", _server_path(user, server))

    def ready(self, user: str, server: str = "") -> bool:
        """Whether the hub calls the server ready."""
        return bool(self.user(user)["servers"].get(server, {}).get("ready"))

    def settled(self, user: str, server: str = "") -> bool:
        """Whether nothing is pending for the server."""
        return not self.user(user)["servers"].get(server, {}).get("pending")

    def start_server(self, user: str, options: object = None, server: str = "") -> None:
        """Start a server and wait until it is ready."""
        answer = self.spawn(user, options, server)
        assert answer.status in {201, 202}, answer
        self.wait(lambda: self.ready(user, server), f"the server of {user}", seconds=90)

    def stop_server(self, user: str, server: str = "") -> None:
        """Stop a server and wait until the hub has it gone."""
        answer = self.stop(user, server)
        assert answer.status in {202, 204}, answer
        self.wait(
            lambda: not self.ready(user, server) and self.settled(user, server),
            f"the server of {user} to stop",
        )

    def wait(
        self, done: Callable[[], T], what: str, *, seconds: float = 60.0, every_s: float = 0.1
    ) -> T:
        """Look again until `done` answers with something true; its last answer is returned."""
        deadline = time.monotonic() + seconds
        while True:
            answer = done()
            if answer:
                return answer
            assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
            time.sleep(every_s)


def governed(policy: Path, state: Path, **keywords: object) -> str:
    """Configuration that makes a `RealHub` a governed one, with a simulated node by default."""
    words = {
        "devices": "simulated",
        "settings": {"cycle_s": 0.5, "reconcile_s": 2, "intents_s": 0.2, "period_s": 0.5},
        **keywords,
    }
    given = "".join(f", {name}={value!r}" for name, value in words.items())
    return (
        "from hub_ext.configure import configure\n"
        f"configure(c, policy={str(policy)!r}, state={str(state)!r}{given})\n"
        "c.JupyterHub.load_roles.append({'name': 'harness-gpus', 'services': ['harness'],\n"
        "    'scopes': ['custom:gpu-commons:admin']})\n"
    )


def _server_path(user: str, server: str) -> str:
    return (
        f"/users/{quote(user)}/servers/{quote(server)}"
        if server
        else f"/users/{quote(user)}/server"
    )
