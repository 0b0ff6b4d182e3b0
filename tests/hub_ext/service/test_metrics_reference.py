"""Every metric that is written is in the reference, and every one there is written."""

import re
from pathlib import Path

SERVICE = Path(__file__).parents[3] / "hub_ext/service"
PAGE = Path(__file__).parents[3] / "docs/reference/metrics.md"


def test_the_reference_has_each_metric_and_no_other() -> None:
    written = {
        name
        for file in SERVICE.rglob("*metrics*.py")
        for name in re.findall(r'"(gpu_commons_[a-z_]+)"', file.read_text())
    }
    told = re.findall(r"^\| `(gpu_commons_[a-z_]+)` \|", PAGE.read_text(), re.MULTILINE)
    # Prometheus writes a counter with this ending.
    assert {name.removesuffix("_total") for name in told} == written
    assert len(told) == len(set(told))
