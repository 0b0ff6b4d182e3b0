"""A server on Kubernetes without a lease is ended after two looks; jobs and leases never are."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import UnreachableError
from hub_ext.kube.leaseless import Holder, holder_of, leaseless
from hub_ext.service.kueuecore import LEASELESS
from hub_ext.service.runner import CoreRunner
from hub_ext.service.stream import Stream
from hub_ext.service.unleasedgpus import Leaseless, namespaces
from tests.support.governing import Site, site_in


def server(name: str, lease: str = "", user: str = "eve", **changes: Any) -> Holder:
    fields: dict[str, Any] = {
        "namespace": "gpu-maps",
        "name": name,
        "uid": f"uid-{name}",
        "user": user,
        "server": "",
        "lease": lease,
        "resources": ("nvidia.com/gpu",),
    }
    return Holder(**{**fields, **changes})


@dataclass
class Cluster:
    """Servers by namespace; what is asked to end goes."""

    there: list[Holder] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    away: bool = False

    async def holders(self, namespace: str) -> tuple[Holder, ...]:
        if self.away:
            raise UnreachableError("the API server does not answer")
        return tuple(one for one in self.there if one.namespace == namespace)

    async def end(self, one: Holder) -> None:
        self.ended.append(one.name)
        self.there.remove(one)

    async def close(self) -> None:
        pass


@dataclass
class Story:
    site: Site
    cluster: Cluster = field(default_factory=Cluster)

    def __post_init__(self) -> None:
        core = CoreRunner(self.site.governor, lambda: self.site.now, Stream(8))
        self._watch = Leaseless(core, self.cluster)

    def look(self, later_s: float = 0) -> None:
        self.site.later(later_s)
        asyncio.run(self._watch.look())

    def events(self) -> list[dict[str, object]]:
        with self.site.ledger.transaction() as tx:
            return [event.body for _seq, event in tx.events(kinds=(LEASELESS,), after=0, limit=9)]


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    with site_in(tmp_path) as site:
        site.report_devices()
        yield Story(site)


def test_one_look_proves_nothing_and_two_a_minute_apart_end_it_with_an_event(story: Story) -> None:
    story.cluster.there = [server("jupyter-eve")]
    story.look()
    story.look(59)
    assert story.cluster.ended == []
    assert story.events() == []
    story.look(1)
    assert story.cluster.ended == ["jupyter-eve"]
    (event,) = story.events()
    assert event["user"] == "eve"
    assert event["name"] == "jupyter-eve"
    assert event["resources"] == ["nvidia.com/gpu"]


def test_a_server_with_an_open_lease_goes_on(story: Story) -> None:
    grant = story.site.run("vera")
    story.cluster.there = [server("jupyter-vera", lease=grant.lease_id, user="vera")]
    for _time in range(3):
        story.look(120)
    assert story.cluster.ended == []


def test_a_lease_that_was_adopted_has_a_server_without_its_label(story: Story) -> None:
    story.site.run("vera")
    story.cluster.there = [server("jupyter-vera", user="vera")]
    story.look()
    story.look(120)
    assert story.cluster.ended == []


def test_a_lease_that_comes_between_two_looks_saves_it(story: Story) -> None:
    story.cluster.there = [server("jupyter-vera", user="vera")]
    story.look()
    story.site.run("vera")
    story.look(120)
    assert story.cluster.ended == []


def test_a_new_one_of_the_same_name_begins_anew(story: Story) -> None:
    story.cluster.there = [server("jupyter-eve", uid="first")]
    story.look()
    story.cluster.there = [server("jupyter-eve", uid="second")]
    story.look(120)
    assert story.cluster.ended == []
    story.look(60)
    assert story.cluster.ended == ["jupyter-eve"]


def test_while_the_api_is_away_nothing_is_ended_and_nothing_forgotten(story: Story) -> None:
    story.cluster.there = [server("jupyter-eve")]
    story.look()
    story.cluster.away = True
    with pytest.raises(UnreachableError):
        story.look(120)
    story.cluster.away = False
    story.look()
    assert story.cluster.ended == ["jupyter-eve"]


def test_every_namespace_of_the_policy_is_looked_at_once(story: Story) -> None:
    policy = story.site.governor.policy
    assert namespaces(policy, None) == ("gpu-maps", "gpu-team-vision", "gpu-team-speech")
    assert namespaces(policy, "hub") == ("hub",)


def pod(change: Callable[[dict[str, Any]], object] = lambda _pod: None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "metadata": {
            "name": "jupyter-eve",
            "namespace": "gpu-maps",
            "uid": "u",
            "labels": {"component": "singleuser-server", "gpu-commons.dev/lease": "l-1"},
            "annotations": {"hub.jupyter.org/username": "eve", "hub.jupyter.org/servername": "b"},
        },
        "spec": {"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.18gb": "1"}}}]},
        "status": {"phase": "Running"},
    }
    change(made)
    return made


def test_a_servers_pod_is_read_with_whose_it_is() -> None:
    found = holder_of(pod())
    assert found is not None
    assert (found.user, found.server, found.lease) == ("eve", "b", "l-1")
    assert found.resources == ("nvidia.com/mig-1g.18gb",)


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["metadata"].update(deletionTimestamp="2026-11-30T09:00:00Z"),
        lambda one: one["status"].update(phase="Succeeded"),
        lambda one: one["spec"].update(containers=[{"resources": {"limits": {"cpu": "1"}}}]),
        lambda one: one["spec"].update(containers=[{}]),
    ],
)
def test_what_holds_no_gpu_or_ends_already_is_no_concern(
    change: Callable[[dict[str, Any]], object],
) -> None:
    assert holder_of(pod(change)) is None


def test_neither_lease_nor_server_known_is_what_makes_it_leaseless() -> None:
    one = server("a", lease="l-1", user="ann")
    assert leaseless((one,), ["l-2"], [("bea", "")]) == (one,)
    assert leaseless((one,), ["l-1"], []) == ()
    assert leaseless((one,), [], [("ann", "")]) == ()
