"""`init`: a first policy that passes `check`, from whatever is there, running nothing of it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from hub_ext.cli import main
from hub_ext.commands.init.draft import Sources, draft
from hub_ext.commands.init.found import Cards, grouped, wish
from hub_ext.commands.init.profile_list import listed
from hub_ext.lease import Device, DeviceId, PoolName
from hub_ext.policy.load import Loaded, loads
from hub_ext.policy.model import GpuFlavor, MigFlavor

CONFIG = """
import os, subprocess
raise SystemExit("this file must not run")
image = "registry.example/lab:1"
more = [{"display_name": "Half an H200", "kubespawner_override": {
    "extra_resource_limits": {"nvidia.com/mig-3g.71gb": 1}, "mem_limit": "64G", "cpu_limit": 8,
    "image": image}}]
c.KubeSpawner.profile_list = [
    {"display_name": "No GPU", "slug": "plain", "description": "Write",
     "kubespawner_override": {"cpu_limit": 0.5, "mem_guarantee": "2G"}},
    dict(display_name="Two cards", kubespawner_override={"extra_resource_limits":
         {"nvidia.com/gpu": "2"}}, profile_options={"image": {}}),
] + more
c.KubeSpawner.profile_list.append({"display_name": "Ten", "kubespawner_override":
    {"extra_resource_limits": {"nvidia.com/gpu": "10"}}})
c.KubeSpawner.profile_list += [make_one(os.environ["X"])]
if os.environ.get("MORE"):
    c.KubeSpawner.profile_list = subprocess.check_output("profiles")
"""


def written(
    *cards: Cards, groups: tuple[str, ...] = (), entries: object = ()
) -> tuple[str, Loaded]:
    wishes = tuple(wish(entry) for entry in entries) if isinstance(entries, tuple) else ()
    text = draft(Sources(cards, "none", groups, "none", wishes, ()))
    return text, loads(text)


def test_with_nothing_there_it_writes_a_simulated_hub(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.yaml"
    assert main(["init", "--devices", "simulated", "--output", str(file)]) == 0
    left = capsys.readouterr().err
    assert left == f"{file.read_text().count('# CHECK:')} places are left to CHECK\n"
    assert main(["check", str(file)]) == 0
    assert "no NVIDIA driver was asked" in file.read_text()
    assert main(["init", "--output", str(file)]) == 1
    assert "is there already" in capsys.readouterr().err


def test_what_a_configuration_writes_out_is_taken_and_the_rest_is_told(tmp_path: Path) -> None:
    file = tmp_path / "jupyterhub_config.py"
    file.write_text(CONFIG)
    found = listed(file)
    assert [entry["display_name"] for entry in found.entries] == [
        "No GPU",
        "Two cards",
        "Half an H200",
        "Ten",
    ]
    assert [CONFIG.splitlines()[line - 1].strip() for line in found.computed] == [
        'c.KubeSpawner.profile_list += [make_one(os.environ["X"])]',
        'c.KubeSpawner.profile_list = subprocess.check_output("profiles")',
    ]
    cards = (
        Cards("h200-141gb", (("3g.71gb", "3g.71gb"),), known=True),
        Cards("l40s", ((), (), ()), known=True),
    )
    text, loaded = written(*cards, groups=("vision",), entries=found.entries)
    profiles = loaded.policy.profiles
    assert list(profiles) == ["plain", "two-cards", "half-an-h200"]
    assert profiles["plain"].cpu == "0.5"
    assert profiles["plain"].memory == 2 * 2**30
    assert profiles["two-cards"].flavor == GpuFlavor(gpus=2)
    assert profiles["half-an-h200"].flavor == MigFlavor(mig="3g.71gb")
    assert profiles["half-an-h200"].memory == 64 * 2**30
    assert "# CHECK: image of this profile was not taken over." in text
    assert "# CHECK: Ten was left out: no pool has 10 whole GPUs on one machine." in text


def test_a_file_that_is_no_python_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("hub: {config: [}")
    assert main(["init", "--config", str(file)]) == 1
    assert "cannot be read as Python" in capsys.readouterr().err


def device(product: str, gpu: int, mig: str | None = None, start: int | None = None) -> Device:
    return Device(
        id=DeviceId(f"GPU-{product}-{gpu}-{start}"),
        pool=PoolName(""),
        node="localhost",
        gpu=gpu,
        model=product,
        mig_profile=mig,
        start=start,
        simulated=False,
    )


def test_a_drivers_inventory_becomes_pools_with_their_cuts() -> None:
    found = grouped(
        (
            device("NVIDIA H200", 0),
            device("NVIDIA H200", 1, "3g.71gb", 4),
            device("NVIDIA H200", 1, "1g.18gb", 0),
            device("NVIDIA GeForce RTX 4090", 2),
        )
    )
    assert found == (
        Cards("geforce-rtx-4090", ((),), known=True),
        Cards("h200-141gb", ((), ("1g.18gb", "3g.71gb")), known=True),
    )
    _text, loaded = written(*found)
    pool = loaded.policy.pools["h200-141gb"]
    assert pool.nodes[0].geometry == ("whole", ("1g.18gb", "3g.71gb"))
    assert {"1g.18gb-h200-141gb", "one-h200-141gb"} <= set(loaded.policy.profiles)


def test_more_gpus_than_a_node_may_declare_are_cut_off_and_told() -> None:
    text, loaded = written(Cards("l40s", ((),) * 70, known=True))
    assert loaded.policy.pools["l40s"].nodes[0].gpus == 64
    assert "# CHECK: 70 were found; one node has 64 at most." in text


def test_a_cut_that_cannot_be_is_told_and_declared_whole() -> None:
    text, loaded = written(Cards("h200-141gb", (("3g.71gb",) * 3,), known=True))
    assert loaded.policy.pools["h200-141gb"].nodes[0].geometry == ()
    assert "which no table knows; declared as whole" in text


names = st.text(min_size=1, max_size=40)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=8,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "display_name": st.text(max_size=200) | anything,
        "slug": anything,
        "description": anything,
        "kubespawner_override": anything
        | st.fixed_dictionaries(
            {},
            optional={
                "cpu_limit": anything,
                "mem_limit": anything,
                "extra_resource_limits": anything
                | st.dictionaries(
                    st.sampled_from(["nvidia.com/gpu", "nvidia.com/mig-1g.18gb", "amd.com/gpu"]),
                    st.integers(-1, 99) | st.text(max_size=3),
                ),
            },
        ),
    },
)
some_cards = st.builds(
    Cards,
    model=st.sampled_from(["h200-141gb", "l40s", "a100-40gb", "odd"]),
    cuts=st.lists(
        st.lists(st.sampled_from(["1g.18gb", "3g.71gb", "7g.40gb", "x"]), max_size=4).map(tuple),
        min_size=1,
        max_size=9,
    ).map(tuple),
    known=st.booleans(),
)


@given(
    cards=st.lists(some_cards, max_size=3).map(tuple),
    groups=st.lists(names, max_size=5, unique=True).map(tuple),
    profiles=st.lists(entries, max_size=4).map(tuple),
)
def test_whatever_is_found_the_first_policy_passes(
    cards: tuple[Cards, ...], groups: tuple[str, ...], profiles: tuple[dict[str, Any], ...]
) -> None:
    _text, loaded = written(*cards, groups=groups, entries=profiles)
    assert len(loaded.policy.pools) == max(1, len(cards))


@contextmanager
def hub_with(groups: list[str], *, page: int = 2) -> Iterator[str]:
    """Serve a hub's groups page by page to one token."""

    class Groups(RequestHandler):
        def get(self) -> None:
            if self.request.headers["Authorization"] != "token right":
                self.set_status(403)
                return
            offset = int(self.get_query_argument("offset"))
            items = [{"name": name} for name in groups[offset : offset + page]]
            more = {"offset": offset + page} if offset + page < len(groups) else None
            self.finish(json.dumps({"items": items, "_pagination": {"next": more}}))

    socket, port = bind_unused_port()
    ready, loops = threading.Event(), []

    async def serve() -> None:
        server = HTTPServer(Application([("/hub/api/groups", Groups)]))
        server.add_socket(socket)
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        ready.set()
        await stop.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(10)
    try:
        yield f"http://127.0.0.1:{port}/hub/api"
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


def test_the_hubs_groups_become_teams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_text("right\n")
    with hub_with(["vision", "Großes Team", "ops"]) as url:
        words = ["init", "--devices", "simulated", "--hub", url, "--token-file", str(token)]
        assert main(words) == 0
        teams = loads(capsys.readouterr().out).policy.teams
        assert {name: team.groups for name, team in teams.items()} == {
            "vision": ("vision",),
            "gro-es-team": ("Großes Team",),
            "ops": ("ops",),
        }
        token.write_text("wrong")
        assert main(words) == 1
        assert "list:groups" in capsys.readouterr().err
    assert main(words) == 1
    assert "did not answer" in capsys.readouterr().err
    assert main(["init", "--hub", "hub:8081", "--token-file", str(token)]) == 1
    assert main(["init", "--hub", "hub:8081"]) == 1
