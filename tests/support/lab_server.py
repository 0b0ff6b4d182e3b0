"""A real Jupyter Server, JupyterLab or Notebook with our extension, as a hub would start one.

Hermetic: own home, own configuration, the built page files by a link; nothing need be installed.
The process and what came of it are ended with the block.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.lab_governor import TOKEN
from tests.support.lab_identity import OWNER_TOKEN
from tests.support.ports import free_port
from tests.support.web import call

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "labextension/assets"
START_S = 40

PAGES_CONFIG = """
c = get_config()
c.LabApp.expose_app_in_browser = True
c.JupyterNotebookApp.expose_app_in_browser = True
c.LabFeed.watched_wait_s = 1
"""

ALONE_CONFIG = """
c.ServerApp.identity_provider_class = "tests.support.lab_identity.TwoPeople"
c.IdentityProvider.token = {token!r}
c.ServerApp.open_browser = False
c.ServerApp.allow_root = True
c.ServerApp.port_retries = 0
c.LabFeed.heartbeat_s = 1.0
c.LabFeed.most_streams = 3
c.LabFeed.longest_pause_s = 1.0
"""

BLOCKER = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError("not installed in this test: " + name)
sys.meta_path.insert(0, Absent())
"""


@dataclass
class LabServer:
    """A running server. `url` ends without a slash; `output` is all that it said."""

    url: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def output(self) -> str:
        """What the server wrote so far."""
        return (self.folder / "server.out").read_text()

    def end(self) -> None:
        """End it as a hub does, then for certain."""
        for number, wait_s in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            if self.process.poll() is not None:
                break
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(wait_s)


def hub_environment(api_url: str, user: str = "alice") -> dict[str, str]:
    """What hub and spawner put into a server's environment."""
    return {
        "JUPYTERHUB_USER": user,
        "JUPYTERHUB_SERVER_NAME": "",
        "JUPYTERHUB_API_TOKEN": TOKEN,
        "GPU_COMMONS_API_URL": api_url,
    }


@contextmanager
def lab_server(
    folder: Path,
    environment: Mapping[str, str],
    *,
    app: str = "jupyter_server",
    absent: frozenset[str] = frozenset(),
    before: Path | None = None,
    config: str = "",
) -> Iterator[LabServer]:
    """Start `python -m app` (jupyter_server, jupyterlab, notebook) and wait until it answers.

    `absent` names packages that cannot be imported; `before` is a folder that wins on the path;
    `config` is Python that ends the server's configuration.
    """
    port = free_port()
    env = _prepare(folder, environment, absent, before, config)
    with (folder / "server.out").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", app, f"--ServerApp.port={port}"],
            cwd=folder / "work",
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = LabServer(f"http://127.0.0.1:{port}", folder, process)
    try:
        _await(server)
        yield server
    finally:
        server.end()


def place_extension(folder: Path, config: str = "") -> dict[str, str]:
    """Put page files and configuration where a Jupyter Server finds them by these variables."""
    (folder / "config/jupyter_server_config.d").mkdir(parents=True, exist_ok=True)
    (folder / "share/labextensions").mkdir(parents=True, exist_ok=True)
    (folder / "config/jupyter_server_config.py").write_text(PAGES_CONFIG + config)
    for path in (ROOT / "labextension/jupyter-config").iterdir():
        shutil.copy(path, folder / "config/jupyter_server_config.d")
    (folder / "share/labextensions/jupyterhub-gpu-commons").symlink_to(ASSETS)
    # The question about news would cover what the tests look at.
    quiet = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
    overrides = folder / "config/labconfig/default_setting_overrides.json"
    overrides.parent.mkdir(parents=True, exist_ok=True)
    overrides.write_text(json.dumps(quiet))
    return {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_PATH": str(folder / "share"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
    }


def _prepare(
    folder: Path,
    environment: Mapping[str, str],
    absent: frozenset[str],
    before: Path | None,
    config: str,
) -> dict[str, str]:
    for name in ("home", "work", "site"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    places = place_extension(folder, ALONE_CONFIG.format(token=OWNER_TOKEN) + config)
    if absent:
        (folder / "site/sitecustomize.py").write_text(BLOCKER.format(names=set(absent)))
    first = [str(before)] if before else []
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join([*first, str(folder / "site"), str(ROOT)]),
        **places,
        **environment,
    }


def _await(server: LabServer) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise AssertionError(f"the server ended: {server.output[-3000:]}")
        if call("GET", f"{server.url}/api").status == 200:
            return
        time.sleep(0.1)
    raise AssertionError(f"the server did not answer: {server.output[-3000:]}")
