"""What hubs on Kubernetes are told beforehand, so that servers start where the policy says."""

from pathlib import Path

from hub_ext.lease import ReportKind
from hub_ext.lease.asking import Report
from hub_ext.lease.words import Liveness, UserName
from hub_ext.policy.catalogue import Person
from tests.support.governing import GROUPS, site_in


def test_a_spawner_is_told_where_a_server_without_a_gpu_lives_and_nobody_else_is(
    tmp_path: Path,
) -> None:
    with site_in(tmp_path / "state", servers="pods") as site:
        person = Person(user=UserName("vera"), groups=GROUPS["vera"])
        told = site.governor.offers(person, now=site.now, terms=True).offers
        alone = {str(one.profile): one.kube for one in told if one.kube is not None}
        assert set(alone) == {str(one.profile) for one in told if one.pool is None} != set()
        granted = site.ask(site.asking("vera", "cpu")).pod
        assert granted is not None
        terms = alone["cpu"]
        labels = {name for name in granted.labels if name not in terms.labels}
        assert {name.rpartition("/")[2] for name in labels} == {"lease", "user", "hub"}
        bare: dict[str, dict[str, str]] = {"labels": {}, "annotations": {}}
        assert terms.model_copy(update=bare) == granted.model_copy(update=bare)
        shown = site.governor.offers(person, now=site.now).offers
        assert all(one.kube is None for one in shown), "people are not told of claims and secrets"


def test_where_servers_are_processes_there_are_no_pods(tmp_path: Path) -> None:
    with site_in(tmp_path / "state") as site:
        person = Person(user=UserName("vera"), groups=GROUPS["vera"])
        told = site.governor.offers(person, now=site.now, terms=True).offers
        assert all(one.kube is None for one in told)


def test_the_lease_of_a_server_that_started_elsewhere_meanwhile_is_where_it_is(
    tmp_path: Path,
) -> None:
    """Its hub knew an older policy than the one of now: the pod is followed where it is."""
    with site_in(tmp_path / "state", servers="pods") as site:
        grant = site.ask(site.asking("vera", "cpu"))
        told = Report(
            kind=ReportKind.started,
            key=grant.key,
            liveness=Liveness.alive,
            namespace="gpu-team-of-yesterday",
        )
        site.governor.report(grant.attempt_id, told, now=site.now)
        kept = site.lease(grant).grant
        assert kept is not None
        assert kept.pod is not None
        assert kept.pod.namespace == "gpu-team-of-yesterday"
