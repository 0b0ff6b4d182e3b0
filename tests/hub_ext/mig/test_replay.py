"""Replays of requests: our placement accepts more of them than first fit does."""

import csv
import random

import pytest

from tests.bench.bench_placement import (
    G1,
    G4,
    PLACERS,
    Request,
    accepted_of,
    requests_of_pods,
    up_to_eighths,
)
from tests.support.reference import reference


def test_small_instances_that_come_and_go_leave_room_for_half_gpus() -> None:
    draw = random.Random(1)
    load = [
        Request(0.5 * at, draw.expovariate(1 / 20), draw.choice([G1, G1, G1, G4]))
        for at in range(1500)
    ]
    accepted = {name: accepted_of(load, 8, make()) for name, make in PLACERS.items()}
    assert accepted["ours"] > 1.02 * accepted["first fit"]
    assert accepted["ours"] >= accepted["best fit"]


def test_the_pods_of_a_real_cluster_find_more_room_than_by_first_fit() -> None:
    path = reference("traces/openb_pod_list_default.csv")
    if path is None:
        pytest.skip("no reference data: GPU_COMMONS_REFERENCE_DATA names no folder with traces")
    pods = list(csv.DictReader(path.open()))
    load = list(requests_of_pods(pods, up_to_eighths, whole=False))
    assert len(load) == 2573
    accepted = {name: accepted_of(load, 6, make()) for name, make in PLACERS.items()}
    assert accepted["ours"] > accepted["first fit"]
    assert accepted["ours"] > accepted["best fit"]
