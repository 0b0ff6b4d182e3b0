"""What is rendered as files for git: objects by kind, and settings for what is not ours.

`objects/` can be given to `kubectl apply` as it stands; `settings/` is for people to merge.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ...errors import GpuCommonsError
from ...i18n import _
from ...policy.model import Policy
from . import rendered
from .chart import chart_values
from .configuration import kueue_configuration
from .devices import configuration_files, label_script
from .kinds import KINDS
from .site import Site
from .text import documents, yaml_text

__all__ = ["files", "read_site", "write"]

_OBJECTS, _SETTINGS = "objects", "settings"


def files(policy: Policy, site: Site) -> Mapping[str, str]:
    """Give every file by its path: objects numbered in the order of making, then settings."""
    order = list(KINDS)
    made = {
        f"{_OBJECTS}/{order.index(kind):02}-{kind.lower()}.yaml": documents(group)
        for kind, group in groupby(rendered(policy, site), key=lambda one: str(one["kind"]))
    }
    return {
        **made,
        f"{_SETTINGS}/kueue.yaml": yaml_text(kueue_configuration(policy, site)),
        f"{_SETTINGS}/chart.yaml": yaml_text(chart_values(site)),
        f"{_SETTINGS}/label-nodes.sh": label_script(policy),
        **{
            f"{_SETTINGS}/{name}/{key.removesuffix('.yaml')}.yaml": text
            for name, texts in configuration_files(policy).items()
            for key, text in texts.items()
        },
    }


def write(place: Path, made: Mapping[str, str]) -> Iterable[str]:
    """Write files and take away those of kinds that are rendered no more; tell what changed.

    Raises
    ------
    GpuCommonsError
        When the directory cannot be written.
    """
    try:
        for name, text in made.items():
            file = place / name
            if not file.is_file() or file.read_text("utf-8") != text:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
                yield str(file)
        for file in sorted((place / _OBJECTS).glob("[0-9][0-9]-*.yaml")):
            if f"{_OBJECTS}/{file.name}" not in made:
                file.unlink()
                yield _("{file} (taken away)").format(file=file)
    except OSError as error:
        raise GpuCommonsError(
            _("{place} cannot be written: {why}").format(place=place, why=error.strerror)
        ) from error


def read_site(file: Path) -> dict[str, Any]:
    """Read what a file says about a cluster.

    Raises
    ------
    GpuCommonsError
        When it cannot be read, or is no mapping.
    """
    try:
        data = YAML(typ="safe").load(file.read_text("utf-8"))
    except (OSError, ValueError, YAMLError) as error:
        raise GpuCommonsError(
            _("{file} cannot be read: {why}").format(file=file, why=error)
        ) from error
    if not isinstance(data, dict):
        raise GpuCommonsError(
            _("{file} is no mapping; write for example `hub_namespace: jupyterhub`").format(
                file=file
            )
        )
    return data
