"""How the hub of a chaos run is configured: its policy, and the detours that faults need."""

import sys
from pathlib import Path

from tests.e2e.rules import RULES, write_rules
from tests.support.hub import ROOT, governed

SEEN_S = 4
"""The governor's heartbeat: how often it notes that a server lives."""

POOL = "slices"
SLICES = 6
QUOTA = {"vision": (3, 2), "language": (2, 1)}
"""Guaranteed and borrowable slices, by team."""

_SETTINGS = {
    "cycle_s": 0.5,
    "reconcile_s": 2,
    "intents_s": 0.3,
    "period_s": 1,
    "seen_s": SEEN_S,
    "forgotten_s": 5,
    "stop_retry_s": 4,
}

_CONFIG = """
HUB_API = "http://127.0.0.1:{to_hub}/hub/api"
with open({hub_port!r}, "w") as file:
    file.write(str(ports["hub"]))
for each in c.JupyterHub.services:
    if each["name"] == "gpu-commons":
        each["command"] = [{python!r}, "-P", {governor!r}, "hub_ext", "governor"]
        each["environment"] = {{
            **each["environment"],
            "STEPPED_GOVERNOR_OFFSET": {offset!r},
            "JUPYTERHUB_API_URL": HUB_API,
        }}
# Servers are told of the hub as the governor is, or it would take them for another hub's.
c.Spawner.environment = {{
    **c.Spawner.environment, "JUPYTERHUB_API_URL": HUB_API, "TINY_CLOCK": {clocks!r},
}}
port = c.GovernedMixin.governor_url.split(":")[2].split("/")[0]
with open({governor_port!r}, "w") as file:
    file.write(port)
c.GovernedMixin.governor_url = c.GovernedMixin.governor_url.replace(
    ":" + port + "/", ":{to_governor}/"
)
c.JupyterHub.cleanup_servers = False

from jupyterhub.services import service
start_polling = service._ServiceSpawner.start_polling
def watch_closely(self):
    self.poll_interval = {poll_s}
    start_polling(self)
service._ServiceSpawner.start_polling = watch_closely
"""


class Folder:
    """Where the files of a run are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hub = path / "hub"
        self.state = self.hub / "state"
        self.clocks = path / "clocks"
        self.offset = path / "offset"
        self.hub_port = path / "hub.port"
        self.governor_port = path / "governor.port"
        self.policy = path / "policy.yaml"
        self.clocks.mkdir(parents=True)

    def port(self, file: Path) -> int:
        """Read a port that the hub's configuration has written; ValueError before that."""
        return int(file.read_text()) if file.exists() else int("")

    def write_policy(self) -> None:
        """Write the policy: six slices, two teams that borrow from each other."""
        node = {"name": "localhost", "gpus": 1, "geometry": [["1g.18gb"] * SLICES]}
        teams = {
            team: {
                "groups": [team],
                "quota": {POOL: {"nominal": str(own / 8), "borrowing_limit": str(borrowed / 8)}},
                "over_quota": "borrow",
                "most_leases": own + borrowed,
            }
            for team, (own, borrowed) in QUOTA.items()
        }
        pools = {POOL: {"model": "h200-141gb", "nodes": [node]}}
        write_rules(self.policy, pools=pools, teams=teams, profiles=RULES["profiles"])

    def configuration(self, *, to_governor: int, to_hub: int, poll_s: int) -> str:
        """Write the end of the hub's configuration, with both proxies on the way."""
        self.write_policy()
        return governed(self.policy, self.state, settings=_SETTINGS) + _CONFIG.format(
            python=sys.executable,
            governor=str(ROOT / "tests/support/stepped_governor.py"),
            offset=str(self.offset),
            clocks=str(self.clocks),
            hub_port=str(self.hub_port),
            governor_port=str(self.governor_port),
            to_governor=to_governor,
            to_hub=to_hub,
            poll_s=poll_s,
        )
