"""A governor that dies anywhere leaves whole transactions and nothing else."""

import json
import os
import subprocess
import sys

from tests.support.ledger_places import Place

WHOLE = [
    # head, states of open leases, intents, charges after each of the three transactions
    (0, [], 0, 0),
    (2, ["starting"], 0, 0),
    (3, ["running"], 1, 0),
    (5, [], 0, 2),
]


def test_killed_before_any_statement_the_ledger_is_whole(where: Place) -> None:
    environment = {
        name: text for name, text in os.environ.items() if name != "GPU_COMMONS_LEDGER_URL"
    }
    if where.url:
        environment["GPU_COMMONS_LEDGER_URL"] = where.url
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.ledger_crash", str(where.state)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(lines) > (10 if where.url else 20)
    assert [line["ended"] for line in lines] == [-9] * (len(lines) - 1) + [0]
    assert {line["difference"] for line in lines} == {""}
    assert {line["epoch"] for line in lines} == {3}
    found = [(line["head"], line["leases"], line["intents"], line["charges"]) for line in lines]
    assert [one for one in WHOLE if one in found] == WHOLE
    assert found == sorted(found)
    assert all(one in WHOLE for one in found)
