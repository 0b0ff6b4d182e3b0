"""How long a start takes from the click to a JupyterLab that answers, with and without us.

The peer is JupyterHub's own local spawner on the same hub configuration, in the same run.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.table import Row
from tests.e2e.rules import GROUPS, write_rules
from tests.support.hub import RealHub, governed
from tests.support.web import call

ROUNDS = 5
PEER = """
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {home!r} + "/{{username}}"
"""


def rows() -> Iterator[Row]:
    """One line: median of five starts each."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        policy = write_rules(folder / "policy.yaml")
        ours = starts(folder / "ours", governed(policy, folder / "ours/state"), governor=True)
        peer = starts(folder / "peer", PEER.format(home=str(folder / "home")), governor=False)
    yield Row(
        "from the click to JupyterLab's answer, median of 5",
        f"{ours:.2f} s",
        f"JupyterHub's local spawner {peer:.2f} s",
        f"{ours / peer:.2f}",
    )


def starts(folder: Path, extra: str, *, governor: bool) -> float:
    """Median seconds of a start on a hub of its own, after one start to warm up."""
    with RealHub.running(folder, extra=extra, groups=GROUPS) as hub:
        if governor:
            hub.wait(hub.healthy, "the governor and its agent")
        hub.add_users("ada")
        options = {"profile": "small"} if governor else None
        seconds = [one_start(hub, options) for _ in range(ROUNDS + 1)]
    return statistics.median(seconds[1:])


def one_start(hub: RealHub, options: object) -> float:
    """Start ada's server, see JupyterLab's page come back, and stop it again."""
    token = hub.rest("POST", "/users/ada/tokens", {}).json["token"]
    begin = time.monotonic()
    hub.start_server("ada", options)
    hub.wait(
        lambda: call("GET", f"{hub.url}/user/ada/lab", token=token).status == 200,
        "JupyterLab to answer",
    )
    taken = time.monotonic() - begin
    hub.stop_server("ada")
    return taken
