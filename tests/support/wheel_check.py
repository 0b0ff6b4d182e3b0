"""Check a built wheel: `python -m tests.support.wheel_check dist` exits 1 with what is wrong."""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = {"hub_ext", "spawner", "labextension"}
ASSETS = ".data/data/share/jupyter/labextensions/jupyterhub-gpu-commons/"
WANTED = (
    ASSETS + "package.json",
    ASSETS + "install.json",
    ".data/data/etc/jupyter/jupyter_server_config.d/",
    ".data/data/share/gpu-commons/config/policy.yaml",
    ".data/data/share/gpu-commons/config/jupyterhub_config.py",
    "hub_ext/mig/mig-geometry.json",
    "hub_ext/service/static/plotly-basic.min.js",
    ".dist-info/licenses/LICENSE",
    ".dist-info/licenses/licenses/plotly.js.txt",
)
UNWANTED = ("node_modules/", "labextension/src/", "labextension/assets/", "tests/", ".pyc")


def name_faults(names: list[str]) -> list[str]:
    """What is missing from, or too much in, a wheel with these members."""
    faults = [f"missing: {w}" for w in WANTED if not any(w in name for name in names)]
    if not any(ASSETS + "static/remoteEntry" in name for name in names):
        faults.append("missing: the JupyterLab extension's remoteEntry.*.js")
    faults += [f"unwanted: {n}" for n in names for u in UNWANTED if u in n]
    tops = {n.split("/")[0] for n in names if ".dist-info/" not in n and ".data/" not in n}
    if tops != PACKAGES:
        faults.append(f"top-level names are {sorted(tops)}, not {sorted(PACKAGES)}")
    return faults


def guard_faults(wheel: Path) -> list[str]:
    """Whether an intruder of each name is refused with its path when it comes first."""
    faults = []
    for package in sorted(PACKAGES - {"hub_ext"}):
        with tempfile.TemporaryDirectory() as folder:
            site, intruder = Path(folder, "site"), Path(folder, "intruder")
            zipfile.ZipFile(wheel).extractall(site)
            intruder.mkdir()
            (intruder / f"{package}.py").write_text("")
            code = "from hub_ext.intruders import check; check()"
            done = subprocess.run(
                [sys.executable, "-P", "-c", code],
                cwd=folder,
                env={"PYTHONPATH": f"{intruder}:{site}"},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            if done.returncode == 0 or str(intruder) not in done.stderr:
                faults.append(f"an intruder named {package} is not refused: {done.stderr[-300:]}")
    return faults


def main(folder: str) -> int:
    """Check the one wheel in `folder`."""
    (wheel,) = Path(folder).glob("*.whl")
    faults = name_faults(zipfile.ZipFile(wheel).namelist()) + guard_faults(wheel)
    for fault in faults:
        print(fault)
    print(f"{wheel.name}: {wheel.stat().st_size // 1024} KiB, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
