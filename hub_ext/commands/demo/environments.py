"""The demo's pinned environments: virtual environments with one package of difference, in seconds.

Each shows the packages that the demo itself runs on through links, so nothing is installed twice
and nothing is fetched.
"""

import base64
import hashlib
import json
import sys
import sysconfig
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

OURS = ("hub_ext", "spawner", "labextension")

VERSIONS = {"vision-env": "1.0", "language-env": "2.0"}
"""Version of the package that differs, by environment."""

TOOLKIT = '''"""The one package in which the demo's environments differ."""

__version__ = "{version}"


def hello() -> str:
    """Say which environment this is."""
    return "demo_toolkit {version}, from the environment {environment}"
'''

QUIET = json.dumps({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}})

COMMAND = """#!/bin/sh
exec "$(dirname "$0")/python" -P -m hub_ext "$@"
"""


def make(prefix: Path, shared: Path) -> None:
    """Make one environment, or leave one that is complete as it is.

    Parameters
    ----------
    prefix
        Its directory; the name tells which version of the toolkit it gets.
    shared
        Directory of links that `share` keeps.
    """
    site = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    wanted = _stamp(shared)
    stamp = prefix / "made.json"
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    venv.EnvBuilder(symlinks=True, with_pip=False, clear=True).create(prefix)
    (site / "demo_shared.pth").write_text(f"{shared}\n", encoding="utf-8")
    _lay_in(site, prefix.name, VERSIONS.get(prefix.name, "1.0"))
    command = prefix / "bin" / "gpu-commons"
    command.write_text(COMMAND, encoding="utf-8")
    command.chmod(0o755)
    _show_jupyter(prefix)
    stamp.write_text(wanted, encoding="utf-8")


def _show_jupyter(prefix: Path) -> None:
    """Let Lab itself, its kernels and our extension be found below the prefix."""
    ours = Path(sys.prefix)
    (prefix / "share").mkdir(exist_ok=True)
    (prefix / "share" / "jupyter").symlink_to(ours / "share" / "jupyter")
    etc = prefix / "etc" / "jupyter"
    etc.mkdir(parents=True)
    for entry in (ours / "etc" / "jupyter").iterdir():
        (etc / entry.name).symlink_to(entry)
    if not (etc / "labconfig").exists():
        # Lab would ask whether to fetch news, over the panel; the demo fetches nothing.
        (etc / "labconfig").mkdir()
        (etc / "labconfig" / "default_setting_overrides.json").write_text(QUIET, "utf-8")


def share(folder: Path) -> None:
    """Keep a directory of links to every package that this process can import from its own site.

    An editable install of this product itself is left out and its packages are linked instead:
    the pin of an environment refuses editable installs, as their content changes behind it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = {target.name: target for target in _shown()}
    root = Path(__file__).parents[3]
    wanted.update({name: root / name for name in OURS if (root / name).is_dir()})
    # Python keeps its cache of single-file modules among the links.
    present = {entry.name: entry for entry in folder.iterdir() if entry.is_symlink()}
    for name, link in present.items():
        if name not in wanted or link.readlink() != wanted[name]:
            link.unlink()
    for name, target in wanted.items():
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(target)


def _shown() -> Iterable[Path]:
    """Entries of our own site directories, without path files, caches and editable installs."""
    editable = {_folder(one) for one in distributions() if _is_editable(one)}
    for site in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
        for entry in Path(site).iterdir():
            hidden = entry.name.startswith(("__editable__", "_editable_impl", "__pycache__"))
            if not hidden and entry.suffix != ".pth" and entry not in editable:
                yield entry


def _is_editable(distribution: Distribution) -> bool:
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def _folder(distribution: Distribution) -> Path:
    return Path(str(distribution.locate_file(""))) / f"{_stem(distribution)}.dist-info"


def _stem(distribution: Distribution) -> str:
    name = distribution.metadata["Name"].replace("-", "_").replace(".", "_").lower()
    return f"{name}-{distribution.version}"


def _stamp(shared: Path) -> str:
    """Everything that an environment of ours depends on."""
    return json.dumps({"python": sys.version, "prefix": sys.prefix, "shared": str(shared)})


def _lay_in(site: Path, environment: str, version: str) -> None:
    """Put the toolkit in place as an installer would, with its RECORD."""
    body = TOOLKIT.format(version=version, environment=environment)
    info = f"demo_toolkit-{version}.dist-info"
    (site / info).mkdir()
    metadata = f"Metadata-Version: 2.1\nName: demo-toolkit\nVersion: {version}\n"
    lines = []
    for path, text in (("demo_toolkit.py", body), (f"{info}/METADATA", metadata)):
        data = text.encode()
        (site / path).write_bytes(data)
        code = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={code},{len(data)}")
    (site / info / "INSTALLER").write_text("gpu-commons demo\n", encoding="utf-8")
    (site / info / "RECORD").write_text("\n".join([*lines, f"{info}/RECORD,,", ""]), "utf-8")
