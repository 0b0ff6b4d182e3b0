"""The parts of the demo; that the whole of it starts and leaves nothing is in tests/e2e."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from ruamel.yaml import YAML

from hub_ext.commands.demo import environments, rules
from hub_ext.errors import GpuCommonsError
from hub_ext.images.pins import digest
from hub_ext.statedir import StateDir

ROOT = Path(__file__).parents[3]

SOURCE = """\
# What the site agreed on.
version: 1
modes: {quota: observe, idle: observe}
projects:
  maps:
    team: vision
    environments:
      main: {prefix: "${GPU_COMMONS_STATE}/env/vision-env", digest: "sha256:0"}  # renewed
      own: {prefix: /opt/own, digest: "sha256:1"}
  birds: {team: vision}
idle:
  gpus: {applies: [gpu], limit: 30m, notice: 10m}
"""


@pytest.fixture(scope="module")
def prefixes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("env")
    environments.share(folder / "shared")
    made = {name: folder / name for name in environments.VERSIONS}
    for prefix in made.values():
        environments.make(prefix, folder / "shared")
    return made


def python(prefix: Path, code: str) -> str:
    return subprocess.run(
        [prefix / "bin/python", "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    ).stdout.strip()


def test_two_environments_differ_in_one_package_and_can_be_pinned(
    prefixes: dict[str, Path],
) -> None:
    assert len({digest(prefix) for prefix in prefixes.values()}) == 2
    for name, prefix in prefixes.items():
        assert python(prefix, "import demo_toolkit; print(demo_toolkit.hello())") == (
            f"demo_toolkit {environments.VERSIONS[name]}, from the environment {name}"
        )


def test_an_environment_can_run_a_server_and_our_commands(prefixes: dict[str, Path]) -> None:
    prefix = prefixes["vision-env"]
    code = (
        "from importlib.util import find_spec as f; import sys, labextension\n"
        "print(sys.prefix, all(map(f, ('jupyterhub.singleuser', 'jupyterlab', 'ipykernel'))))"
    )
    assert python(prefix, code) == f"{prefix} True"
    told = subprocess.run(
        [prefix / "bin/gpu-commons", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip()
    assert (prefix / "share/jupyter/lab/static").is_dir()


def test_an_environment_that_is_complete_is_left_alone(prefixes: dict[str, Path]) -> None:
    prefix = prefixes["vision-env"]
    before = (digest(prefix), (prefix / "pyvenv.cfg").stat().st_mtime_ns)
    environments.make(prefix, prefix.parent / "shared")
    assert (digest(prefix), (prefix / "pyvenv.cfg").stat().st_mtime_ns) == before


def test_links_follow_what_is_installed(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    environments.share(folder)
    links = {link.name for link in folder.iterdir()}
    assert {"hub_ext", "labextension", "jupyterhub", "tornado"} <= links
    assert not [name for name in links if name.endswith(".pth") or "editable_impl" in name]
    (folder / "tornado").unlink()
    (folder / "__pycache__").mkdir()
    (folder / "gone").symlink_to(tmp_path / "nowhere")
    environments.share(folder)
    assert {link.name for link in folder.iterdir()} == links | {"__pycache__"}


def test_the_policy_gets_real_pins_and_quick_times_and_keeps_its_comments(tmp_path: Path) -> None:
    source = tmp_path / "source.yaml"
    source.write_text(SOURCE)
    state = StateDir(tmp_path / "state")
    file = rules.render(source, state, lambda name: f"pin of {name}")
    assert "# What the site agreed on." in file.read_text()
    data = YAML(typ="safe").load(file.read_text())
    pins = data["projects"]["maps"]["environments"]
    assert pins["main"]["digest"] == "pin of vision-env"
    assert pins["own"]["digest"] == "sha256:1"
    assert data["modes"] == {"quota": "enforce", "idle": "enforce"}
    assert data["idle"]["gpus"] == {"applies": ["gpu"], **rules.QUICK, **rules.AT_ONCE}


def test_what_somebody_edited_stays_and_only_its_pins_are_renewed(tmp_path: Path) -> None:
    source = tmp_path / "source.yaml"
    source.write_text(SOURCE)
    state = StateDir(tmp_path / "state")
    file = rules.render(source, state, lambda _name: "old pin")
    file.write_text(file.read_text().replace("limit: 2m", "limit: 7m"))
    for _ in range(2):
        rules.render(source, state, lambda _name: "new pin")
        data = YAML(typ="safe").load(file.read_text())
        assert data["idle"]["gpus"]["limit"] == "7m"
        assert data["projects"]["maps"]["environments"]["main"]["digest"] == "new pin"


def test_an_unedited_policy_follows_a_new_example(tmp_path: Path) -> None:
    source = tmp_path / "source.yaml"
    source.write_text(SOURCE)
    state = StateDir(tmp_path / "state")
    rules.render(source, state, str)
    source.write_text(SOURCE.replace("vision", "sight"))
    assert "team: sight" in rules.render(source, state, str).read_text()


def test_an_edit_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    source = tmp_path / "source.yaml"
    source.write_text(SOURCE)
    state = StateDir(tmp_path / "state")
    rules.render(source, state, str).write_text("a: [\n")
    with pytest.raises(GpuCommonsError, match=r"policy\.yaml"):
        rules.render(source, state, str)


HUB = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-S", "-c",
    "import os, time\\n"
    "if os.fork() == 0:\\n"
    "    os.setsid(); time.sleep(300)"]).wait()
subprocess.Popen([sys.executable, "-S", "-c", "import signal, time\\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(300)"],
    start_new_session=True)
time.sleep(300)
"""

DEMO = """
import sys, time
from pathlib import Path
from hub_ext.commands.demo.household import Household
household = Household(Path(sys.argv[1]))
household.start([sys.executable, "-S", "-c", sys.argv[2]], {"DEMO_TEST": sys.argv[1]}, Path("/"))
print("started", flush=True)
sys.stdin.readline()
household.stop(lambda _seconds: True)
print("stopped", flush=True)
sys.stdin.readline()
"""


def marked(output: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("DEMO_TEST") == str(output):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    output = tmp_path / "output.txt"
    with subprocess.Popen(
        [sys.executable, "-c", DEMO, str(output), HUB],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "started\n"
            deadline = time.monotonic() + 20
            while "up" not in output.read_text() or len(marked(output)) < 3:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield process
        finally:
            process.kill()
            for left in marked(output):
                left.kill()


def test_stopping_ends_orphans_and_the_deaf_and_nothing_else(
    demo: subprocess.Popen[str], tmp_path: Path
) -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert demo.stdin
        assert demo.stdout
        demo.stdin.write("\n")
        demo.stdin.flush()
        assert demo.stdout.readline() == "stopped\n"
        assert marked(tmp_path / "output.txt") == []
        assert other.poll() is None
        other.kill()


def test_a_demo_that_is_killed_takes_its_hub_along(
    demo: subprocess.Popen[str], tmp_path: Path
) -> None:
    hub = next(process for process in marked(tmp_path / "output.txt") if process.ppid() == demo.pid)
    demo.send_signal(signal.SIGKILL)
    hub.wait(10)
