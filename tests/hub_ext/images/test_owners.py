"""A prefix that others may write is never asked: its Python would run theirs as the governor."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError, UnpinnableError
from hub_ext.images.pins import Pins, digest
from hub_ext.lease import Environment
from tests.support.environments import lay_in, make_environment, site_packages


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    made = make_environment(tmp_path / "env")
    lay_in(made, "alpha", "1.0")
    return made


PLACES: dict[str, Callable[[Path], Path]] = {
    "the prefix": lambda prefix: prefix,
    "bin": lambda prefix: prefix / "bin",
    "site-packages": site_packages,
    "pyvenv.cfg": lambda prefix: prefix / "pyvenv.cfg",
    "a .pth": lambda prefix: site_packages(prefix) / "start.pth",
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("mode", [0o002, 0o020])
def test_what_others_may_write_is_refused_before_it_runs(
    prefix: Path, tmp_path: Path, name: str, mode: int
) -> None:
    ran = tmp_path / "ran"
    (site_packages(prefix) / "start.pth").write_text(
        f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n"
    )
    place = PLACES[name](prefix)
    os.chown(place, -1, 12345) if os.geteuid() == 0 else None
    place.chmod(place.stat().st_mode | mode)
    if mode == 0o020 and os.geteuid() != 0:
        pytest.skip("only root can give a file to a group of others")
    with pytest.raises(UnpinnableError, match="can be written by") as error:
        digest(prefix)
    assert str(place) in str(error.value)
    assert "chmod go-w" in str(error.value)
    assert not ran.exists()


def test_an_executable_behind_links_is_looked_at_itself(prefix: Path, tmp_path: Path) -> None:
    real = tmp_path / "python-of-others"
    real.write_text("#!/bin/sh\necho {}\n")
    real.chmod(0o777)
    python = prefix / "bin" / "python"
    python.unlink()
    python.symlink_to(real)
    with pytest.raises(UnpinnableError, match=f"{real} can be written by everybody"):
        digest(prefix)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_prefix_of_somebody_else_is_refused_with_their_name(prefix: Path) -> None:
    os.chown(prefix, 12345, -1)
    pinned = Environment(name="torch", prefix=str(prefix), digest="sha256:1")
    with pytest.raises(RefusedError, match="its owner, 12345") as refusal:
        Pins().check(pinned)
    assert (refusal.value.code, refusal.value.status) == ("environment-unusable", 409)


def test_a_prefix_of_ones_own_is_measured_whatever_the_place_around_it(prefix: Path) -> None:
    prefix.parent.chmod(0o777)
    assert digest(prefix).startswith("sha256:")
