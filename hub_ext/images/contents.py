"""What an image says it holds, read from its configuration: environment variables and labels.

It says what its maker wrote; nothing is started to look.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..policy.model import Contents

_FRAMEWORKS = (
    ("PYTORCH_VERSION", "pytorch"),
    ("TORCH_VERSION", "pytorch"),
    ("TENSORFLOW_VERSION", "tensorflow"),
    ("JAX_VERSION", "jax"),
    ("RAPIDS_VERSION", "rapids"),
)
"""Variables that makers of images set, and the framework that each names."""

_CUDA = ("CUDA_VERSION", "NV_CUDA_CUDART_VERSION")
_CUDA_LABELS = ("cuda.version", "com.nvidia.cuda.version")
_PYTHON = ("PYTHON_VERSION",)
_PYTHON_LABELS = ("python.version",)
_NUMBERS = re.compile(r"^[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}")
_MOST = 60


def contents_of(config: Mapping[str, Any]) -> Contents:
    """Read an image's configuration (OCI or Docker, `config.Env` and `config.Labels`)."""
    inner = config.get("config")
    inner = inner if isinstance(inner, Mapping) else {}
    variables, labels = _variables(inner.get("Env")), _labels(inner.get("Labels"))
    return Contents(
        python=_short(_first(variables, _PYTHON) or _first(labels, _PYTHON_LABELS)),
        framework=_framework(variables),
        cuda=_numbers(_first(variables, _CUDA) or _first(labels, _CUDA_LABELS)),
    )


def _variables(given: object) -> dict[str, str]:
    lines = given if isinstance(given, list) else []
    pairs = (line.partition("=") for line in lines if isinstance(line, str))
    return {name: value.strip() for name, _equals, value in pairs}


def _labels(given: object) -> dict[str, str]:
    if not isinstance(given, Mapping):
        return {}
    return {str(name): value.strip() for name, value in given.items() if isinstance(value, str)}


def _first(found: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((found[name] for name in names if found.get(name)), None)


def _framework(variables: Mapping[str, str]) -> str | None:
    for name, title in _FRAMEWORKS:
        value = _short(variables.get(name))
        if value is not None:
            return f"{title} {value}"
    return None


def _short(text: str | None) -> str | None:
    """Keep what fits a policy: one short line of visible characters."""
    if not text:
        return None
    return "".join(c for c in text[:_MOST] if c.isprintable()).strip() or None


def _numbers(text: str | None) -> str | None:
    found = _NUMBERS.match(text) if text else None
    return found[0] if found else None
