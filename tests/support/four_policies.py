"""The four example policies under one story each, and the table that compares them.

A large training, a burst of small experiments and an online inference server in one pool.
`python -m tests.support.four_policies` prints the table of docs/explanation/four-policies.md.
"""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.load import Felt, Load, Work, burst

EXAMPLES = Path(__file__).parents[2] / "config" / "examples"
BURST = 12


def _at(minutes: int) -> timedelta:
    return timedelta(minutes=minutes)


def _training(groups: tuple[str, ...], profile: str, project: str | None = None) -> Work:
    return Work(
        "train", "tara", groups, profile, _at(15), _at(180), project=project, kind="training"
    )


def _service(
    groups: tuple[str, ...], profile: str, project: str | None = None, task: str | None = None
) -> Work:
    return Work("serve", "otto", groups, profile, _at(60), _at(600), task, project, kind="service")


def loads() -> Mapping[str, Load]:
    """Each policy with its people: the same story told by its own teams."""
    tries = {"at": _at(0), "lasts": _at(120)}
    return {
        "fixed": Load(
            EXAMPLES / "fixed.yaml",
            "campus",
            [
                *burst("chem-students", "half", BURST, **tries),
                _training(("physics",), "four"),
                _service(("physics",), "whole"),
            ],
        ),
        "elastic": Load(
            EXAMPLES / "elastic.yaml",
            "main",
            [
                *burst("genomics", "one", BURST, **tries),
                _training(("climate",), "eight"),
                _service(("climate",), "one"),
            ],
        ),
        "priority-queue": Load(
            EXAMPLES / "priority-queue.yaml",
            "main",
            [
                *burst("users", "one", BURST, **tries),
                _training(("users",), "four"),
                _service(("users", "operators"), "one", task="service"),
            ],
        ),
        "combined": Load(
            EXAMPLES / "combined.yaml",
            "main",
            [
                *burst("vision", "one", BURST, **tries),
                _training(("language",), "four", "corpus"),
                _service(("language",), "one", "assistant", "service"),
            ],
        ),
    }


def felt() -> dict[str, Felt]:
    """Let each policy have its day."""
    found = {}
    for name, load in loads().items():
        with TemporaryDirectory() as state:
            found[name] = load.run(Path(state))
    return found


def table(found: Mapping[str, Felt]) -> str:
    """Compare what people felt, as a table in Markdown."""
    head = (
        "Policy",
        "Training waits",
        "Experiments started, refused",
        "Their median wait",
        "Longest",
        "Stopped for others",
        "Service waits",
        "GPUs held",
    )
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, one in found.items():
        cells = (
            f"`{name}`",
            _span(one.longest("training")),
            f"{one.started('experiment')} of {BURST}, {one.refused['experiment']}",
            _span(one.median("experiment")),
            _span(one.longest("experiment")),
            str(sum(one.stops.values())),
            _span(one.longest("service")),
            f"{one.held_percent} %",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _span(wait: timedelta | None) -> str:
    if wait is None:
        return "never started"
    minutes = int(wait.total_seconds()) // 60
    return "0" if not minutes else f"{minutes // 60} h {minutes % 60:02} min"


if __name__ == "__main__":
    print(table(felt()))
