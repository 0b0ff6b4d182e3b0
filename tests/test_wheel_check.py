"""The wheel's judge finds what it is there to find."""

from tests.support.wheel_check import ASSETS, PACKAGES, WANTED, name_faults

GOOD = [
    *(f"x{name}" if name.startswith(".") else name for name in WANTED),
    f"x{ASSETS}static/remoteEntry.1a2b.js",
    *(f"{package}/__init__.py" for package in PACKAGES),
]


def test_a_whole_wheel_has_no_fault() -> None:
    assert name_faults(GOOD) == []


def test_a_wheel_without_lab_assets_is_refused() -> None:
    assert any("remoteEntry" in f for f in name_faults([n for n in GOOD if "remoteEntry" not in n]))


def test_another_top_level_name_is_refused() -> None:
    assert any("top-level" in f for f in name_faults([*GOOD, "tool/__init__.py"]))


def test_assets_shipped_twice_are_refused() -> None:
    assert any("unwanted" in f for f in name_faults([*GOOD, "labextension/assets/static/a.js"]))
