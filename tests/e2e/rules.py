"""The policy of the end-to-end stories: three slices, two teams, one profile without a GPU."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

LIFE = {"default": "4h", "longest": "12h"}
GROUPS = {"vision": ["ada", "ben"], "language": ["cleo"]}

RULES: dict[str, Any] = {
    "version": 1,
    "currency": "EUR",
    "modes": {"quota": "enforce", "idle": "enforce"},
    "pools": {
        "slices": {
            "model": "h200-141gb",
            "nodes": [{"name": "localhost", "gpus": 1, "geometry": [["1g.18gb"] * 3]}],
        }
    },
    "teams": {
        "vision": {
            "groups": ["vision"],
            "leads": ["ben"],
            "quota": {"slices": {"nominal": "0.25", "borrowing_limit": "0.125"}},
            "over_quota": "borrow",
        },
        "language": {
            "groups": ["language"],
            "quota": {"slices": {"nominal": "0.125"}},
            "over_quota": "deny",
        },
    },
    "profiles": {
        "small": {
            "title": "Small slice",
            "pool": "slices",
            "flavor": {"mig": "1g.18gb"},
            "cpu": "1",
            "memory": "1GiB",
            "lifetime": LIFE,
        },
        "plain": {
            "title": "No GPU",
            "flavor": "none",
            "cpu": "1",
            "memory": "1GiB",
            "lifetime": LIFE,
        },
    },
    "prices": [{"pool": "slices", "flavor": "1g.18gb", "from": "2026-01-01", "per_hour": "0.50"}],
}


def rules(**changes: Any) -> dict[str, Any]:
    """Copy the policy with some top-level parts replaced; idle rules act at once."""
    made = {**deepcopy(RULES), **changes}
    made["idle"] = {name: {"trial": "0s", **rule} for name, rule in made.get("idle", {}).items()}
    return made


def write_rules(file: Path, **changes: Any) -> Path:
    """Write the policy in one step, as an editor does; JSON is YAML."""
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(rules(**changes), indent=2))
    draft.replace(file)
    return file
