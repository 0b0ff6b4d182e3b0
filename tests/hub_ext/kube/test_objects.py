"""A lease as a Workload's body, and a Workload's body as what the governor sees."""

from copy import deepcopy
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.errors import UnitError
from hub_ext.kube import names, objects
from hub_ext.kube.engine import Phase, Wanted
from hub_ext.kube.quantity import whole
from hub_ext.kube.reading import gone, seen
from hub_ext.lease import LeaseId, PoolName

NOW = datetime(2026, 12, 1, 9, 0, 5, tzinfo=UTC)
WANTED = Wanted(
    LeaseId("l-1"),
    "gpu-genes",
    "gpu-commons",
    PoolName("h200"),
    {"site/rack": "7"},
    840,
    1500,
    names.lease_labels("l-1", "bio", "genes", "h200"),
)
COND = "conditions"


def condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> Any:
    return {"type": kind, "status": status, "reason": reason or kind, "message": message}


def stored(**status: Any) -> Any:
    """A Workload of ours as the API server gives it back."""
    body = deepcopy(objects.workload(WANTED))
    body["metadata"] |= {
        "uid": "u-1",
        "resourceVersion": "7",
        "creationTimestamp": "2026-12-01T08:00:00Z",
    }
    return {**body, "status": status}


ADMISSION = {
    "clusterQueue": "gc-bio.genes",
    "podSetAssignments": [
        {
            "name": "main",
            "count": 1,
            "flavors": {names.UNIT: "gc-h200"},
            "resourceUsage": {names.UNIT: "840"},
        }
    ],
}
RESERVED = (condition("QuotaReserved"), condition("Admitted"))


def test_a_lease_is_a_workload_of_its_own_name() -> None:
    body = objects.workload(WANTED)
    assert body["metadata"]["name"] == "l-1"
    assert body["metadata"]["labels"]["gpu-commons.dev/project"] == "genes"
    assert body["spec"]["queueName"] == "gpu-commons"
    assert body["spec"]["priority"] == 1500
    pod = body["spec"]["podSets"][0]["template"]["spec"]
    assert pod["nodeSelector"] == {"site/rack": "7", "gpu-commons.dev/pool": "h200"}
    assert pod["containers"][0]["resources"] == {"requests": {"gpu-commons.dev/unit": "840"}}


def test_nobodys_labels_name_another_lease_or_pool() -> None:
    sly = {names.LABEL_LEASE: "l-2", names.LABEL_POOL: "other", names.LABEL_MANAGED_BY: "x"}
    body = objects.workload(
        Wanted(
            LeaseId("l-1"),
            "n",
            "q",
            PoolName("h200"),
            {names.FLAVOR_LABEL: "other"},
            1,
            1,
            sly,
        )
    )
    assert body["metadata"]["labels"] == {
        names.LABEL_LEASE: "l-1",
        names.LABEL_POOL: "h200",
        names.LABEL_MANAGED_BY: names.MANAGED_BY,
    }
    pod = body["spec"]["podSets"][0]["template"]["spec"]
    assert pod["nodeSelector"] == {names.FLAVOR_LABEL: "h200"}


def test_what_is_there_is_the_same_whatever_its_number() -> None:
    body = stored()
    body["spec"]["priority"] = 2500
    assert objects.same(body, WANTED)
    body["spec"]["queueName"] = "other"
    assert not objects.same(body, WANTED)
    assert not objects.same({}, WANTED)


@pytest.mark.parametrize(
    ("status", "active", "phase", "reason", "evicted_for", "holds"),
    [
        ({}, True, Phase.pending, "", None, False),
        (
            {COND: [condition("QuotaReserved", "False", "Pending", "1 more needed")]},
            True,
            Phase.pending,
            "Pending",
            None,
            False,
        ),
        (
            {COND: [*RESERVED], "admission": ADMISSION},
            True,
            Phase.admitted,
            "Admitted",
            None,
            True,
        ),
        (
            {COND: [condition("QuotaReserved")], "admission": ADMISSION},
            True,
            Phase.pending,
            "QuotaReserved",
            None,
            True,
        ),
        (
            {COND: [*RESERVED, condition("Evicted", reason="Preempted")], "admission": ADMISSION},
            True,
            Phase.evicted,
            "Preempted",
            "Preempted",
            True,
        ),
        (
            {
                COND: [*RESERVED, condition("Evicted", "False", "NoticeWithdrawn")],
                "admission": ADMISSION,
            },
            True,
            Phase.admitted,
            "Admitted",
            None,
            True,
        ),
        (
            {COND: [*RESERVED, condition("Evicted", reason="Deactivated")]},
            False,
            Phase.deactivated,
            "Deactivated",
            "Deactivated",
            False,
        ),
        (
            {COND: [condition("Evicted", reason="Deactivated")]},
            True,
            Phase.pending,
            "",
            None,
            False,
        ),
        (
            {COND: [*RESERVED, condition("Finished", reason="Succeeded")]},
            True,
            Phase.finished,
            "Succeeded",
            None,
            False,
        ),
    ],
)
def test_each_stand_is_read_as_kueue_means_it(
    status: Any, active: bool, phase: Phase, reason: str, evicted_for: str | None, holds: bool
) -> None:
    body = stored(**status)
    body["spec"]["active"] = active
    found = seen(body)
    assert (found.phase, found.reason, found.evicted_for, found.holds) == (
        phase,
        reason,
        evicted_for,
        holds,
    )
    assert (found.lease_id, found.units, found.number) == ("l-1", 840, 1500)
    assert found.created_at == datetime(2026, 12, 1, 8, 0, tzinfo=UTC)


def test_an_admitted_lease_shows_its_flavor_and_readiness() -> None:
    found = seen(stored(conditions=[*RESERVED, condition("PodsReady")], admission=ADMISSION))
    assert (found.flavor, found.pool, found.pods_ready) == ("gc-h200", "h200", True)
    assert not found.foreign


def job(**status: Any) -> Any:
    """A batch job of two kinds of pods, as Kueue makes a Workload of it."""

    def pods(name: str, count: int, gpus: str) -> Any:
        requests = {"requests": {"nvidia.com/gpu": gpus}}
        spec = {"containers": [{"name": "c", "resources": requests}]}
        return {"name": name, "count": count, "template": {"spec": spec}}

    return {
        "metadata": {
            "name": "job-train-3-1a2b3",
            "namespace": "batch",
            "uid": "u-9",
            "labels": {names.LABEL_LEASE: "l-1"},
            "ownerReferences": [{"kind": "Job", "name": "train-3", "controller": True}],
        },
        "spec": {"podSets": [pods("driver", 1, "1"), pods("worker", 4, "2")]},
        "status": status,
    }


def test_a_job_is_foreign_whatever_its_labels_say() -> None:
    requests = [
        {"name": "driver", "resources": {names.UNIT: "840"}},
        {"name": "worker", "resources": {names.UNIT: "6720"}},
    ]
    found = seen(job(resourceRequests=requests))
    assert (found.foreign, found.owner, found.units, found.number) == (
        True,
        "Job train-3",
        7560,
        0,
    )


def test_a_jobs_held_units_are_summed_over_its_pods() -> None:
    sets = [
        {"name": "driver", "resourceUsage": {names.UNIT: "840"}},
        {"name": "worker", "resourceUsage": {names.UNIT: "84k"}},
    ]
    found = seen(job(conditions=[*RESERVED], admission={"podSetAssignments": sets}))
    assert (found.units, found.holds) == (84_840, True)


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"name": "x"}},
        {"metadata": {"name": "x", "labels": None}, "spec": None, "status": None},
        {"metadata": {"name": "x"}, "spec": {"podSets": [None, {}]}, "status": {COND: "none"}},
        {
            "metadata": {"name": "x", "creationTimestamp": "then", "ownerReferences": [{}]},
            "spec": {"podSets": [{"count": 2, "template": {"spec": {"containers": [{}]}}}]},
            "status": {"admission": {"podSetAssignments": [{"resourceUsage": {names.UNIT: "?"}}]}},
        },
    ],
)
def test_rubbish_of_others_is_read_as_nothing(body: Any) -> None:
    found = seen(body)
    assert (found.foreign, found.units, found.holds) == (True, 0, False)


def test_one_that_is_gone_names_its_lease() -> None:
    assert gone(stored()).lease_id == "l-1"
    assert gone(job()).lease_id is None


def test_conditions_are_written_with_whole_seconds_of_utc() -> None:
    body = objects.pods_ready(LeaseId("l-1"), "gpu-genes", NOW)
    assert body["status"][COND] == [
        {
            "type": "PodsReady",
            "status": "True",
            "reason": "Started",
            "message": "the lease's server runs",
            "lastTransitionTime": "2026-12-01T09:00:05Z",
        }
    ]
    kept = objects.kept(LeaseId("l-1"), "gpu-genes", NOW)
    assert {one["type"]: one["status"] for one in kept["status"][COND]} == {
        "Evicted": "False",
        "Preempted": "False",
    }


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("840", 840),
        ("84k", 84_000),
        ("1Ki", 1024),
        ("1.5k", 1500),
        ("500m", 1),
        ("1e3", 1000),
        ("2E", 2 * 10**18),
        ("0", 0),
    ],
)
def test_quantities_are_whole_numbers_rounded_up(text: str, number: int) -> None:
    assert whole(text) == number


@pytest.mark.parametrize("text", ["", "k", "1kk", "1 k", "0x10", "1e999", "-", "\u0661"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(UnitError):
        whole(text)


@given(st.integers(0, 10**12), st.sampled_from(["", "k", "M", "Ki", "Mi"]))
def test_a_quantity_is_its_number_times_its_suffix(number: int, suffix: str) -> None:
    factor = {"": 1, "k": 1000, "M": 10**6, "Ki": 1024, "Mi": 1024**2}[suffix]
    assert whole(f"{number}{suffix}") == Fraction(number) * factor
