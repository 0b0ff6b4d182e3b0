"""An environment's pin tells what it holds, notices every change, and is quick when none came."""

import hashlib
import platform
import shutil
import sysconfig
import threading
import time
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.errors import RefusedError, UnpinnableError
from hub_ext.images import pins
from hub_ext.images.pins import Pins, digest
from hub_ext.lease import Environment
from tests.support.environments import lay_in, make_environment, site_packages


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    made = make_environment(tmp_path / "env")
    lay_in(made, "alpha", "1.0")
    lay_in(made, "beta", "2.1")
    return made


def _settled() -> None:
    # Stamps younger than a tenth of a second are not believed, see `pins._SETTLED_NS`.
    time.sleep(0.12)


def test_the_digest_is_the_documented_sum(prefix: Path) -> None:
    site = site_packages(prefix)
    alpha, beta = (
        hashlib.sha256((site / name / "RECORD").read_bytes()).hexdigest()
        for name in ("alpha-1.0.dist-info", "beta-2.1.dist-info")
    )
    text = (
        f"python {platform.python_version()} {sysconfig.get_platform()}\n"
        f"alpha==1.0 {alpha}\n"
        f"beta==2.1 {beta}\n"
    )
    assert digest(prefix) == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_the_same_content_elsewhere_has_the_same_digest(prefix: Path, tmp_path: Path) -> None:
    twin = make_environment(tmp_path / "twin")
    lay_in(twin, "beta", "2.1")
    lay_in(twin, "alpha", "1.0")
    assert digest(twin) == digest(prefix)


def test_each_change_changes_the_digest_and_going_back_restores_it(prefix: Path) -> None:
    first = digest(prefix)
    _settled()
    assert digest(prefix) == first
    info = lay_in(prefix, "gamma", "0.1")
    with_gamma = digest(prefix)
    (info / "RECORD").write_text("gamma.py,len=7,7\n")
    rewritten = digest(prefix)
    shutil.rmtree(info)
    assert len({first, with_gamma, rewritten}) == 3
    assert digest(prefix) == first


def test_a_record_rewritten_in_place_is_noticed_behind_a_warm_cache(prefix: Path) -> None:
    record = site_packages(prefix) / "alpha-1.0.dist-info" / "RECORD"
    _settled()
    first = digest(prefix)
    assert digest(prefix) == first
    before = record.read_text()
    record.write_text(before.replace("len=6", "len=7"))
    assert digest(prefix) != first


def test_a_warm_check_is_quick(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(200):
        lay_in(prefix, f"package{number}", "1.0")
    environment = Environment(name="default", prefix=str(prefix), digest="sha256:" + "0" * 64)
    keeper = Pins()
    _settled()
    pinned = environment.model_copy(update={"digest": keeper.digest(prefix)})
    monkeypatch.setattr(pins, "_ask", lambda *_args: pytest.fail("asked again"))
    spent = []
    for _round in range(20):
        started = time.perf_counter()
        keeper.check(pinned)
        spent.append(time.perf_counter() - started)
    assert sorted(spent)[10] < 0.005


def test_fifty_at_once_ask_the_environment_once(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = pins._ask

    def counted(where: Path, timeout_s: float) -> object:
        asked.append(where)
        return real(where, timeout_s)

    monkeypatch.setattr(pins, "_ask", counted)
    keeper = Pins()
    _settled()
    threads = [threading.Thread(target=keeper.digest, args=(prefix,)) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("origin", "line", "expected"),
    [
        ({"url": "file:///src", "dir_info": {"editable": True}}, None, "delta==3.0 is an editable"),
        ({}, "{outside}", "holds no installed distribution"),
    ],
)
def test_what_changes_unseen_is_refused(
    prefix: Path, tmp_path: Path, origin: dict[str, object], line: str | None, expected: str
) -> None:
    lay_in(prefix, "delta", "3.0", origin=origin)
    if line:
        outside = tmp_path / "source"
        outside.mkdir()
        (site_packages(prefix) / "dev.pth").write_text(line.format(outside=outside) + "\n")
    with pytest.raises(UnpinnableError, match=expected):
        digest(prefix)


def test_distributions_shared_through_a_path_file_count(prefix: Path, tmp_path: Path) -> None:
    alone = digest(prefix)
    shared = make_environment(tmp_path / "shared")
    lay_in(shared, "gamma", "0.1")
    lay_in(shared, "alpha", "9.9")
    (site_packages(prefix) / "shared.pth").write_text(f"{site_packages(shared)}\n")
    both = digest(prefix)
    assert both != alone
    shadowed = site_packages(shared) / "alpha-9.9.dist-info" / "RECORD"
    shadowed.write_text("what another hides does not count\n")
    assert digest(prefix) == both
    lay_in(shared, "delta", "3.0")
    assert digest(prefix) not in {alone, both}


def test_an_egg_link_is_refused(prefix: Path) -> None:
    (site_packages(prefix) / "old.egg-link").write_text("/src/old\n")
    with pytest.raises(UnpinnableError, match=r"old\.egg-link"):
        digest(prefix)


def test_a_distribution_without_a_name_is_refused(prefix: Path) -> None:
    (site_packages(prefix) / "alpha-1.0.dist-info" / "METADATA").write_text("rubbish\n")
    with pytest.raises(UnpinnableError, match="does not say its name"):
        digest(prefix)


def test_a_distribution_without_a_record_counts_by_name_and_version(prefix: Path) -> None:
    with_record = digest(prefix)
    (site_packages(prefix) / "alpha-1.0.dist-info" / "RECORD").unlink()
    assert digest(prefix) != with_record


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("#!/bin/sh\nexit 3\n", "failed"),
        ("#!/bin/sh\necho '{}'\n", "does not answer as a Python"),
        ("#!/bin/sh\necho '{\"faults\": 7}'\n", "does not answer as a Python"),
        ("#!/bin/sh\nexec sleep 30\n", "did not answer within 0.2 s"),
        ("#!/nowhere/sh\n", "does not run"),
    ],
)
def test_a_python_that_is_none_is_refused_in_words(
    tmp_path: Path, script: str, expected: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(script)
    (tmp_path / "bin" / "python").chmod(0o755)
    with pytest.raises(UnpinnableError, match=expected):
        Pins(timeout_s=0.2).digest(tmp_path)


def test_a_check_passes_then_refuses_with_both_digests(prefix: Path) -> None:
    keeper = Pins(base=prefix.parent)
    pinned = Environment(name="vision", prefix="env", digest=digest(prefix))
    keeper.check(pinned)
    lay_in(prefix, "gamma", "0.1")
    with pytest.raises(RefusedError) as refused:
        keeper.check(pinned)
    found = digest(prefix)
    assert refused.value.code == "environment-drifted"
    assert refused.value.figures == {
        "pinned": pinned.digest,
        "found": found,
        "prefix": str(prefix),
    }
    assert pinned.digest in refused.value.message
    assert f"gpu-commons env digest {prefix}" in refused.value.message


def test_a_missing_environment_is_refused_with_what_to_do(tmp_path: Path) -> None:
    gone = Environment(name="vision", prefix=str(tmp_path / "gone"), digest="sha256:" + "0" * 64)
    with pytest.raises(RefusedError, match="Ask the people who keep the policy") as refused:
        Pins().check(gone)
    assert refused.value.code == "environment-unusable"
    assert refused.value.figures["found"] == "none"


def test_an_image_is_not_looked_for_on_this_machine() -> None:
    image = Environment(name="vision", image="registry.example/vision", digest="sha256:" + "0" * 64)
    Pins().check(image)
    assert Pins().located(image) == image


def test_prefixes_are_found_from_the_policy_and_the_state(tmp_path: Path) -> None:
    keeper = Pins(base=tmp_path / "config", state=tmp_path / "state")
    pin = "sha256:" + "0" * 64
    inside = Environment(name="a", prefix="${GPU_COMMONS_STATE}/env/a", digest=pin)
    beside = Environment(name="b", prefix="envs/b", digest=pin)
    assert keeper.located(inside).prefix == str(tmp_path / "state" / "env" / "a")
    assert keeper.located(beside).prefix == str(tmp_path / "config" / "envs" / "b")


def test_the_command_prints_the_digest(prefix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "digest", str(prefix)]) == 0
    assert capsys.readouterr().out == f"{digest(prefix)}\n"


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "digest", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "there is no Python at" in said.err
