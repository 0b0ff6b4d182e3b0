"""The embedded engine and a real Kueue take the same random steps, many trees at once.

A tree that differs takes its steps once more, in quiet: where load stretches a cycle of Kueue
beyond the second after which parked requests wake, one of them may come before an active one.
"""

import asyncio
import json
import os
from pathlib import Path
from random import Random

import pytest

from tests.controlplane.plane import ControlPlane
from tests.support.kube_recorder import Recorder, scenarios
from tests.support.kube_trees import Tree
from tests.support.vectors import outcomes

pytestmark = [pytest.mark.kube, pytest.mark.timeout(1500)]

SEED = int(os.environ.get("GPU_COMMONS_SEED", "20261130"))
TREES = int(os.environ.get("GPU_COMMONS_TREES", "100"))
STEPS = int(os.environ.get("GPU_COMMONS_STEPS", "14"))


def differing(plane: ControlPlane, file: Path, ids: list[str]) -> dict[str, str]:
    """Let trees take their steps, and name those in which the engine decides otherwise."""
    trees = [Tree.random(one, Random(f"{SEED}/{one}")) for one in ids]
    recorder = Recorder(plane, trees)
    recorder.set_up()
    asyncio.run(recorder.record(STEPS))
    file.write_text(json.dumps(scenarios(trees)))
    evicted = sum(len(step["evicted"]) for tree in trees for step in tree.steps)
    admitted = len({(t.id, name) for t in trees for step in t.steps for name in step["admitted"]})
    print(f"{len(trees)} trees, {STEPS} steps each: {admitted} admitted, {evicted} evicted")
    found = {one.id: one.difference for one in outcomes(file) if one.difference is not None}
    for tree in trees:
        if tree.id in found:
            print(json.dumps(tree.scenario()))
    return found


def test_both_engines_decide_alike(control_plane: ControlPlane, tmp_path: Path) -> None:
    all_ids = [f"t{n:03}" for n in range(TREES)]
    first = differing(control_plane, tmp_path / "first.json", all_ids)
    print(f"seed {SEED}: {len(first)} of {TREES} differ: {first}")
    assert len(first) <= TREES // 20
    if first:
        again = differing(control_plane, tmp_path / "again.json", sorted(first))
        assert again == {}
