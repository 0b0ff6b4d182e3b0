"""`image`: a tag becomes a pin in the policy, with who and why, and goes up and back."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.policy.load import loads
from hub_ext.policy.model import EnvironmentPin
from hub_ext.service.rules.consent import found
from hub_ext.statedir import StateDir
from tests.support.governing import POLICY, Site, site_in
from tests.support.registry import RealRegistry

OLD = ["PYTHON_VERSION=3.11.9", "CUDA_VERSION=11.8.0", "PYTORCH_VERSION=2.4.0"]
NEW = ["PYTHON_VERSION=3.12.4", "CUDA_VERSION=12.4.1", "PYTORCH_VERSION=2.9.1"]


@pytest.fixture(scope="module")
def registry() -> Iterator[RealRegistry]:
    with RealRegistry.running() as made:
        yield made


@dataclass
class Story:
    """A hub's policy file, and a governor that takes it when the story says so."""

    site: Site
    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    def pin(self, environment: str) -> EnvironmentPin:
        return loads(self.text).policy.projects["maps"].environments[environment]

    def take(self) -> None:
        loaded = loads(self.text)
        self.site.governor.offer_policy(loaded, found(self.site.state), now=self.site.now)


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    path = tmp_path / "rules" / "policy.yaml"
    path.parent.mkdir()
    monkeypatch.setattr("hub_ext.commands.policyfile._WAIT_S", 0.0)
    with site_in(tmp_path / "state") as site:
        StateDir(site.state).note(hub="hub", policy=str(path))
        monkeypatch.setenv("GPU_COMMONS_STATE", str(site.state))
        path.write_text(POLICY)
        made = Story(site, path)
        made.take()
        yield made


def image(*words: str) -> int:
    return main(["image", *words])


def pin(registry: RealRegistry, tag: str, environment: str = "dev", why: str = "agreed") -> int:
    name = f"{registry.host}/maps/torch:{tag}"
    return image("pin", "maps", environment, name, "--reason", why)


def test_a_tag_is_pinned_by_digest_with_what_the_image_holds_and_why(
    story: Story, registry: RealRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = registry.push("maps/torch", "2026.11", NEW)
    assert pin(registry, "2026.11") == 0
    out = capsys.readouterr().out
    assert f"Asking {registry.host}" in out
    assert "python 3.12.4, framework pytorch 2.9.1, cuda 12.4.1" in out
    assert "Servers that run keep their image" in out
    pinned = story.pin("dev")
    assert (pinned.image, pinned.tag) == (f"{registry.host}/maps/torch", "2026.11")
    assert pinned.digest == digest
    # Nothing but the project's line has changed.
    changed = [
        a for a, b in zip(POLICY.splitlines(), story.text.splitlines(), strict=True) if a != b
    ]
    assert changed == ["  maps: {team: vision}"]
    story.take()
    (newest, *_rest) = story.site.governor.generations(1)
    assert newest.summary.startswith(f"image pin maps dev {digest[7:19]}: agreed")
    assert newest.actor.kind == "cli"


def test_pins_go_up_and_back_and_their_history_is_listed(
    story: Story, registry: RealRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = registry.push("maps/torch", "old", OLD), registry.push("maps/torch", "new", NEW)
    assert pin(registry, "old", why="first") == 0
    story.take()
    assert image("promote", "maps", "dev", "training", "--reason", "tested") == 0
    story.take()
    story.site.later(3600)
    assert pin(registry, "new", why="newer") == 0
    story.take()
    assert (story.pin("dev").digest, story.pin("training").digest) == (new, old)
    assert image("rollback", "maps", "dev", "--reason", "it broke") == 0
    story.take()
    assert story.pin("dev") == story.pin("training")
    capsys.readouterr()
    assert image("list", "maps", "--offline") == 0
    heads, *rows = capsys.readouterr().out.splitlines()
    assert heads.split()[:4] == ["environment", "image", "tag", "digest"]
    assert [row.split()[0] for row in rows] == ["dev", "training", "dev", "dev"]
    assert all(old[7:19] in rows[place] for place in (0, 1, 3))
    assert new[7:19] in rows[2]
    assert "(before)" in rows[2]
    assert "it broke" in rows[0]
    assert image("rollback", "maps", "dev", "--to", new[7:15], "--reason", "again") == 0
    assert story.pin("dev").digest == new


def test_a_tag_that_has_moved_is_told(
    story: Story, registry: RealRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.push("maps/torch", "latest", OLD)
    assert pin(registry, "latest") == 0
    story.take()
    assert image("list", "maps") == 0
    assert "every tag still names what is pinned" in capsys.readouterr().out
    moved = registry.push("maps/torch", "latest", NEW)
    assert image("list", "maps") == 1
    assert f"dev: latest names {moved[7:19]} by now" in capsys.readouterr().out


def test_an_image_that_needs_a_newer_driver_is_refused_with_both_versions(
    story: Story, registry: RealRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.push("maps/torch", "13", ["CUDA_VERSION=13.0.1"])
    text = story.text.replace("  whole:\n", '  whole:\n    driver: "550.54.15"\n', 1)
    story.path.write_text(text)
    assert pin(registry, "13") == 1
    told = capsys.readouterr().err
    assert "CUDA 13.0.1 needs driver 580.65.06, and the pool 'whole' has 550.54.15" in told
    assert story.text == text


def test_an_image_of_another_registry_is_not_even_asked_for(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    story.path.write_text(POLICY + r"images: {allowed: ['registry\.example/maps/.*']}" + "\n")
    words = ("pin", "maps", "dev", "127.0.0.1:1/maps/torch:1", "--reason", "x")
    assert image(*words) == 1
    assert "matches none of `images.allowed`" in capsys.readouterr().err


def test_where_the_file_cannot_be_written_the_patch_is_printed(
    story: Story, registry: RealRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.push("maps/torch", "1", NEW)
    story.path.chmod(0o444)
    assert pin(registry, "1") == 1
    told = capsys.readouterr()
    assert "-  maps: {team: vision}" in told.out
    assert "Apply the patch above" in told.err
    assert story.text == POLICY


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pin", "map", "dev", "r.example/a:1"), "did you mean 'maps'?"),
        (("promote", "maps", "dev", "training"), "has no environment 'dev'"),
        (("rollback", "maps", "dev"), "has no environment 'dev'"),
        (("pin", "maps", "dev", "torch"), "has no tag"),
    ],
)
def test_what_is_not_there_is_named(
    story: Story, words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert image(*words, "--reason", "x") == 1
    assert told in capsys.readouterr().err
    assert story.text == POLICY
