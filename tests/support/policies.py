"""A small policy as plain data, for tests that change one thing of it and look what follows."""

from copy import deepcopy
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from hub_ext.policy.model import Policy

DATA: dict[str, Any] = {
    "version": 1,
    "currency": "EUR",
    "timezone": "Europe/Paris",
    "modes": {"quota": "enforce", "idle": "enforce"},
    "pools": {
        "slices": {
            "model": "h200-141gb",
            "nodes": [
                {
                    "name": "n1",
                    "gpus": 1,
                    "geometry": [["3g.71gb", "1g.18gb", "1g.18gb", "1g.18gb", "1g.18gb"]],
                }
            ],
        },
        "cards": {"model": "l40s", "nodes": [{"name": "n2", "gpus": 4}]},
        "vault": {
            "model": "l40s",
            "for": {"team": "speech"},
            "nodes": [{"name": "n3", "gpus": 1}],
        },
    },
    "teams": {
        "vision": {
            "groups": ["vision"],
            "leads": ["lena"],
            "quota": {
                "slices": {"nominal": "0.25", "borrowing_limit": "0.25"},
                "cards": {"nominal": "2"},
            },
            "over_quota": "borrow",
            "longest_lifetime": "6h",
        },
        "speech": {
            "groups": ["speech", "audio"],
            "quota": {
                "slices": {"nominal": "0.25"},
                "vault": {"nominal": "1"},
            },
            "pools_allowed": ["slices", "vault"],
        },
    },
    "projects": {
        "maps": {
            "team": "vision",
            "environments": {
                "torch": {"prefix": "/opt/envs/torch", "digest": "sha256:" + "a" * 64},
                "jax": {"prefix": "/opt/envs/jax", "digest": "sha256:" + "b" * 64},
            },
        },
        "birds": {
            "team": "vision",
            "environments": {
                "image": {"image": "registry.example/vision/birds", "digest": "sha256:" + "c" * 64}
            },
        },
        "voices": {
            "team": "speech",
            "environments": {"own": {"prefix": "envs/own", "digest": "sha256:" + "d" * 64}},
        },
    },
    "profiles": {
        "small": {
            "title": "Small slice",
            "pool": "slices",
            "flavor": {"mig": "1g.18gb"},
            "cpu": "2",
            "memory": "8GiB",
            "lifetime": {"default": "4h", "longest": "12h"},
        },
        "pair": {
            "title": "Two cards",
            "pool": "cards",
            "flavor": {"gpus": 2},
            "cpu": "8.5",
            "memory": "64GiB",
            "lifetime": {"default": "8h", "longest": "2d"},
        },
        "secret": {
            "title": "Speech card",
            "pool": "vault",
            "flavor": {"gpus": 1},
            "cpu": "4",
            "memory": "16GiB",
            "lifetime": {"default": "1h", "longest": "2h"},
        },
        "cpu-only": {
            "title": "No GPU",
            "flavor": "none",
            "cpu": "0.5",
            "memory": "2GiB",
            "lifetime": {"default": "8h", "longest": "1d"},
            "teams": ["speech"],
        },
    },
    "prices": [
        {"pool": "cards", "from": "2026-01-01", "per_hour": "1.20"},
        {"pool": "slices", "flavor": "1g.18gb", "from": "2026-01-01", "per_hour": "0.50"},
        {"pool": "slices", "flavor": "1g.18gb", "from": "2026-04-01", "per_hour": "0.60"},
        {"pool": "vault", "from": "2026-01-01", "per_hour": "9"},
    ],
    "idle": {
        "gpus": {"applies": ["gpu", "mig"], "limit": "30m", "notice": "10m", "trial": "0s"},
        "plain": {"applies": ["none"], "limit": "4h", "notice": "10m", "trial": "0s"},
    },
}
"""Nothing in it is worth a warning. `speech` alone has the vault; `vision` has two projects."""


def policy_data(*path: str | int, to: object = ...) -> dict[str, Any]:
    """Copy the data, with the value at `path` replaced by `to` (taken away where it is `...`)."""
    data = deepcopy(DATA)
    if path:
        part: Any = data
        for step in path[:-1]:
            part = part[step]
        if to is ...:
            del part[path[-1]]
        else:
            part[path[-1]] = to
    return data


def policy_text(*path: str | int, to: object = ...) -> str:
    """Write the policy with one change as YAML."""
    return yaml_text(policy_data(*path, to=to))


def yaml_text(data: object) -> str:
    """Write plain data as YAML."""
    stream = StringIO()
    YAML().dump(data, stream)
    return stream.getvalue()


def policy(*path: str | int, to: object = ...) -> Policy:
    """Build the policy with one change; cross checks are not made."""
    return Policy.model_validate(policy_data(*path, to=to))
