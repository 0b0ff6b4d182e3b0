"""The demo's policy: the example of `config/`, with real pins and idle times of minutes.

What a person has edited in the copy since the last start stays; only its pins are renewed.
"""

import hashlib
import sysconfig
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ...errors import GpuCommonsError
from ...i18n import _
from ...statedir import StateDir

PREFIX = "${GPU_COMMONS_STATE}/env/"
QUICK = {"limit": "2m", "notice": "1m", "start_grace": "1m"}
"""Idle times of the demo, so that a stop is seen within minutes."""

AT_ONCE = {"trial": "0s"}
"""Nobody waits a week in front of the demo until its idle rules act."""


def config_folder() -> Path:
    """Where the shipped configuration lies: in the source tree, or below the installed prefix.

    Raises
    ------
    GpuCommonsError
        When neither is there.
    """
    root = Path(__file__).parents[3] / "config"
    installed = Path(sysconfig.get_path("data")) / "share" / "gpu-commons" / "config"
    for folder in (root, installed):
        if (folder / "policy.yaml").is_file():
            return folder
    raise GpuCommonsError(
        _("The demo's configuration is missing at {path}. Install the package again.").format(
            path=installed
        )
    )


def render(source: Path, state: StateDir, pin: Callable[[str], str]) -> Path:
    """Write the policy into the state directory and return its path.

    Parameters
    ----------
    source
        The shipped policy.
    pin
        Makes the environment of that name and returns its digest.

    Raises
    ------
    GpuCommonsError
        When the file is no YAML.
    """
    target = state.path / "policy.yaml"
    edited = target.exists() and state.run().get("policy_made") != _sha256(
        target.read_text("utf-8")
    )
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    chosen = target if edited else source
    try:
        data = yaml.load(chosen.read_text("utf-8"))
    except YAMLError as error:
        raise GpuCommonsError(
            _("{file} cannot be read: {error}\nMend it, or delete it for a new one.").format(
                file=chosen, error=error
            )
        ) from error
    _renew_pins(data, pin)
    if not edited:
        _quicken(data)
    stream = StringIO()
    yaml.dump(data, stream)
    text = stream.getvalue()
    draft = target.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(target)
    if not edited:
        state.note(policy_made=_sha256(text))
    return target


def _renew_pins(data: Any, pin: Callable[[str], str]) -> None:  # noqa: ANN401 - YAML as it comes
    for project in (data.get("projects") or {}).values():
        for environment in (project.get("environments") or {}).values():
            prefix = str(environment.get("prefix") or "")
            if prefix.startswith(PREFIX):
                environment["digest"] = pin(prefix.removeprefix(PREFIX))


def _quicken(data: Any) -> None:  # noqa: ANN401 - YAML as it comes
    data.setdefault("modes", {}).update({"quota": "enforce", "idle": "enforce"})
    for rule in (data.get("idle") or {}).values():
        rule.update(AT_ONCE)
        if {"gpu", "mig"} & set(rule["applies"]):
            rule.update(QUICK)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
