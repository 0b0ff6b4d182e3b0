"""`make conformance`: the suites of JupyterHub and KubeSpawner against our spawners.

What passes is kept in `hub.txt` and `kubespawner.txt`; it may only grow. `--accept` adds to it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
CACHE = ROOT / ".cache/conformance"
SOURCE = "KUBESPAWNER_SOURCE"

NOWHERE = """
apiVersion: v1
kind: Config
current-context: nowhere
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: nobody, user: {token: "0"}}]
"""
"""KubeSpawner's suite reads a kubeconfig to be imported; its tests of a cluster skip themselves."""


@dataclass(frozen=True)
class Suite:
    """One suite: what it needs besides our environment, how it is called, what it meets."""

    name: str
    plugin: str
    words: tuple[str, ...]
    folder: Path

    @property
    def kept(self) -> Path:
        """File with the names of all tests that have passed."""
        return HERE / f"{self.name}.txt"

    def packages(self) -> Path:
        """Give the folder with what it needs besides, put there at the first run."""
        folder, wanted = CACHE / self.name, ROOT / f"requirements/conformance-{self.name}.txt"
        mark = folder / ".ready"
        if not mark.exists() or mark.read_text() != wanted.read_text():
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            given = ["--no-deps", "--require-hashes", "--upgrade", "--target", str(folder)]
            subprocess.run([*pip, *given, "-r", str(wanted)], check=True)
            mark.write_text(wanted.read_text())
        return folder

    def passes(self) -> set[str]:
        """Run it; return the names of what passed."""
        with tempfile.TemporaryDirectory(prefix="conformance-") as place:
            told, cluster = Path(place, "passes"), Path(place, "kubeconfig")
            cluster.write_text(NOWHERE)
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            environment = {
                **os.environ,
                "PYTHONPATH": f"{self.packages()}{os.pathsep}{ROOT}",
                "PATH": f"{ROOT / 'node_modules/.bin'}{os.pathsep}{path}",
                "CONFORMANCE_PASSES": str(told),
                "KUBECONFIG": str(cluster),
            }
            pytest = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider"]
            given = ["-c", str(HERE / "pytest.ini"), "--rootdir", str(self.folder)]
            plugins = ["pytest_asyncio", self.plugin, "tests.conformance.passes", *UNWANTED]
            loaded = [word for one in plugins for word in ("-p", one)]
            subprocess.run(
                [*pytest, *given, *loaded, *self.words],
                cwd=self.folder,
                env=environment,
                check=False,
            )
            return set(told.read_text().splitlines()) if told.exists() else set()


UNWANTED = ("no:pytest_timeout", "no:xdist", "no:hypothesispytest", "no:playwright", "no:pytester")
"""Plugins of our environment that are newer than one suite's pytest."""

HUB = tuple(
    f"jupyterhub.tests.test_{name}"
    for name in ("named_servers", "proxy", "services", "services_auth", "spawner", "user")
)


def suites() -> list[Suite]:
    """Suites that can be run here."""
    found = [Suite("hub", "tests.conformance.swap_local", ("--pyargs", *HUB), CACHE)]
    source = os.environ.get(SOURCE)
    if source:
        folder = Path(source).expanduser().absolute()
        found.append(Suite("kubespawner", "tests.conformance.swap_kube", ("tests",), folder))
    else:
        sys.stdout.write(f"kubespawner: not run; {SOURCE} names the checkout with its tests\n")
    return found


def compare(suite: Suite, passed: set[str], *, accept: bool) -> bool:
    """Say what passes no more, and what passes now; keep that where it is accepted."""
    kept = set(suite.kept.read_text().splitlines()) if suite.kept.exists() else set()
    lost, won = sorted(kept - passed), sorted(passed - kept)
    for name in lost:
        sys.stdout.write(f"{suite.name}: passes no more: {name}\n")
    if won and accept:
        suite.kept.write_text("".join(f"{name}\n" for name in sorted(kept | passed)))
    hint = "" if accept or not won else " (`make conformance ACCEPT=1` keeps them)"
    sys.stdout.write(f"{suite.name}: {len(passed)} pass, {len(lost)} lost, {len(won)} new{hint}\n")
    return not lost


def main() -> int:
    """Run; return 1 where something passes no more."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("--accept", action="store_true", help="keep what passes now")
    parser.add_argument("--only", help="name of the one suite to run")
    args = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in suites() if args.only in (None, one.name)]
    results = [compare(one, one.passes(), accept=args.accept) for one in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
