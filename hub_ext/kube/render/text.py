"""Objects as YAML whose order never changes by itself, so that people can keep it in git."""

from collections.abc import Iterable
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import RoundTripRepresenter

from .kinds import Manifest

__all__ = ["documents", "yaml_text"]


class _Plain(RoundTripRepresenter):
    """Write nothing by reference: the same list twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401 - the library's signature
        del data
        return True


def yaml_text(value: Any) -> str:  # noqa: ANN401 - any plain data
    """Write plain data as one YAML document; long text stays on its line."""
    yaml = YAML()
    yaml.Representer = _Plain
    yaml.default_flow_style = False
    yaml.width = 10_000
    out = StringIO()
    yaml.dump(value, out)
    return out.getvalue()


def documents(manifests: Iterable[Manifest]) -> str:
    """Write objects one after the other, each behind a line of dashes."""
    return "".join(f"---\n{yaml_text(one)}" for one in manifests)
