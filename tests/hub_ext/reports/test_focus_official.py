"""The official FOCUS validator, where it is installed (`make focus-validator`, Python 3.12)."""

import csv
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hub_ext.lease import Posting, TeamName
from hub_ext.policy.model.statement import Statement
from hub_ext.reports.focus import Terms, columns, rows
from hub_ext.units import settle
from tests.support.ledger_parts import NOON, a_posting
from tests.support.policies import policy

INSTALLED = Path(".cache/focus-validator/bin").absolute()
VALIDATOR = Path(os.environ.get("FOCUS_VALIDATOR", INSTALLED / "focus-validator"))

CRITERIA = (
    "ACCOUNT_NAMING_SUPPORTED",
    "USAGE_MEASUREMENT_SUPPORTED",
    "UNIT_PRICING_SUPPORTED",
    "PUBLIC_PRICE_LIST_SUPPORTED",
    "NEGOTIATED_PRICING_SUPPORTED",
    "SUB_ACCOUNT_SUPPORTED",
    "BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED",
    "RESOURCE_TYPE_ASSIGNMENT_SUPPORTED",
    "REGION_SUPPORTED",
    "TAGGING_SUPPORTED",
)
CONTRADICTION = {"InvoiceId-C-004-C", "InvoiceId-C-005-C"}
"""Two rules of 1.2 contradict each other, so that one of them always fails."""

LEAST = 260
"""Checks that pass at least: a validator that looked at nothing has no failures either."""

needs_validator = pytest.mark.skipif(
    not VALIDATOR.exists(), reason=f"no {VALIDATOR.name}: `make focus-validator` needs Python 3.12"
)


@needs_validator
@pytest.mark.parametrize("kind", ["showback", "chargeback"])
def test_the_official_validator_of_1_2_finds_its_own_contradiction_alone(
    kind: str, tmp_path: Path
) -> None:
    export, report = tmp_path / "export.csv", tmp_path / "report.xml"
    with export.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns("1.2"))
        writer.writeheader()
        writer.writerows(rows(_lines(), _terms(kind)))
    judged(export, report)
    passed, failed = _counted(report)
    assert len(failed) == 1
    assert failed <= CONTRADICTION
    assert passed >= LEAST


def judged(export: Path, report: Path) -> None:
    """Run the validator; its exit status says nothing, whatever it finds."""
    python = VALIDATOR.with_name("python")
    where = subprocess.check_output(
        [python, "-c", "import focus_validator; print(focus_validator.__path__[0])"], text=True
    )
    subprocess.run(
        [
            VALIDATOR,
            *("--data-file", export, "--validate-version", "1.2", "--block-download"),
            *("--applicability-criteria", ",".join(CRITERIA)),
            *("--output-type", "unittest", "--output-destination", report),
        ],
        # Its rules are found from the folder that holds the package, and nowhere else.
        cwd=Path(where.strip()).parent,
        check=True,
        capture_output=True,
    )


def _counted(report: Path) -> tuple[int, set[str]]:
    passed, failed = 0, set()
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(str(case.get("name")).split(" ")[0])
        elif case.find("skipped") is None:
            passed += 1
    return passed, failed


def _terms(kind: str) -> Terms:
    statement = Statement.model_validate({"kind": kind, "region": "paris-1"})
    given = policy().model_copy(update={"statement": statement, "timezone": "Europe/Paris"})
    first, last = NOON.replace(month=10), NOON.replace(year=2027)
    return Terms(given, "1.2", lambda user: user, {}, first, last)


def _lines() -> list[Posting]:
    made = []
    for number in range(60):
        start, seconds = number * 5000 - 200_000, 3777 + number
        team = TeamName(("vision", "speech")[number % 2])
        amount = settle(4_200_000 * seconds)
        made.append(a_posting(f"L{number}", start, start + seconds, team=team, amount_micro=amount))
    return made
