"""`gpu-commons render` prints objects, writes files, and says in words what it cannot."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from hub_ext.cli import main
from tests.support.fake_cluster import FakeCluster
from tests.support.rendering import PLACE

POLICY = str(PLACE / "policy.yaml")


def test_it_prints_every_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--policy", POLICY]) == 0

    kinds = {one["kind"] for one in YAML(typ="safe").load_all(capsys.readouterr().out)}
    assert {"ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue"} <= kinds


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("kueue", "nvidia.com/mig-1g.18gb"),
        ("chart", "interNamespaceAccessLabels: accept"),
        ("nodes", "kubectl label --overwrite node gpu-1"),
    ],
)
def test_it_prints_what_others_are_told(
    part: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", "--policy", POLICY, "--part", part]) == 0

    assert words in capsys.readouterr().out


def test_files_that_are_current_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["render", "--policy", POLICY, "--out", str(tmp_path)]
    assert main(words) == 0
    assert "clusterqueue.yaml" in capsys.readouterr().out

    assert main(words) == 0
    assert capsys.readouterr().out == ""


def test_files_of_kinds_that_are_no_more_are_taken_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, own = tmp_path / "objects/98-oldkind.yaml", tmp_path / "objects/mine.yaml"
    for file in (old, own):
        file.parent.mkdir(exist_ok=True)
        file.write_text("{}\n")

    assert main(["render", "--policy", POLICY, "--out", str(tmp_path)]) == 0

    assert not old.exists()
    assert own.exists()
    assert "98-oldkind.yaml (taken away)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name the policy with --policy"),
        (["--policy", "/nowhere.yaml"], "cannot be read"),
        (["--policy", POLICY, "--hub-namespace", "A_B"], "hub_namespace"),
        (["--policy", POLICY, "--site", "/nowhere.yaml"], "/nowhere.yaml cannot be read"),
    ],
)
def test_what_cannot_be_rendered_is_said_and_ends_with_2(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GPU_COMMONS_POLICY", raising=False)

    assert main(["render", *words]) == 2

    assert said in capsys.readouterr().err


def test_a_file_says_what_differs_in_this_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site.yaml"
    site.write_text("namespace: research\n")

    assert main(["render", "--policy", POLICY, "--site", str(site)]) == 0

    assert "namespace: research" in capsys.readouterr().out


def test_what_one_namespace_cannot_keep_is_refused_by_check_and_render(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = YAML(typ="safe").load(Path(POLICY).read_text("utf-8"))
    data["pools"]["cards"]["rdma"] = {"resource": "rdma/hca"}
    data["projects"]["sky-survey"]["network"] = {
        "fabric": "rdma",
        "security_exception": "IPC_LOCK",
    }
    file = tmp_path / "policy.yaml"
    with file.open("w") as stream:
        YAML().dump(data, stream)

    assert main(["check", str(file)]) == 0
    capsys.readouterr()
    assert main(["check", str(file), "--namespace", "research"]) == 1
    assert "all servers live in 'research'" in capsys.readouterr().err
    assert main(["render", "--policy", str(file), "--namespace", "research"]) == 2
    assert "security_exception" in capsys.readouterr().err


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster()
    monkeypatch.setattr("hub_ext.commands.render.Api", lambda _kubeconfig: fake)
    return fake


def test_after_applying_nothing_differs(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", "--policy", POLICY, "--diff"]) == 1
    assert "create ClusterQueue gc-robotics: is not there" in capsys.readouterr().out
    assert cluster.writes == []

    assert main(["render", "--policy", POLICY, "--apply"]) == 0
    assert "create ClusterQueue gc-robotics" in capsys.readouterr().out

    assert main(["render", "--policy", POLICY, "--diff"]) == 0
    assert capsys.readouterr().out == ""


def test_a_node_without_its_labels_is_said_and_is_no_difference(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["render", "--policy", POLICY, "--apply"])
    cluster.nodes = {"gpu-3": {"gpu-commons.dev/pool": "slices"}}
    capsys.readouterr()

    assert main(["render", "--policy", POLICY, "--diff"]) == 0

    said = capsys.readouterr()
    assert said.out == ""
    assert "node gpu-3 lacks gpu-commons.dev/pool=cards" in said.err
    assert "node gpu-4 of the policy is not in the cluster" in said.err
    assert cluster.nodes == {"gpu-3": {"gpu-commons.dev/pool": "slices"}}


def test_a_cluster_that_does_not_answer_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["render", "--policy", POLICY, "--diff", "--kubeconfig", str(tmp_path / "none")]

    assert main(words) == 2

    assert "no way to Kubernetes" in capsys.readouterr().err
