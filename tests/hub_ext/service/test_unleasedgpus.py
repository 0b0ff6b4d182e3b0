"""A server on Kubernetes without a lease is ended after two looks; jobs and leases never are."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import UnreachableError
from hub_ext.kube.leaseless import Holder, holder_of
from hub_ext.lease import ServerKey, UserName
from hub_ext.policy.load import loads
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.devices.gpuholders import LEASELESS
from hub_ext.service.leasing.strangers import Stranger
from hub_ext.service.workers.unleasedgpus import Leaseless, namespaces
from tests.support.governing import POLICY, Site, site_in


def server(name: str, lease: str = "", user: str = "eve", **changes: Any) -> Holder:
    fields: dict[str, Any] = {
        "namespace": "gpu-maps",
        "name": name,
        "uid": f"uid-{name}",
        "user": user,
        "server": "",
        "hub": "hub" if lease else "",
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
    blind: str = ""

    async def holders(self, namespace: str) -> tuple[Holder, ...]:
        if self.away or namespace == self.blind:
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


def test_a_lease_made_by_hand_has_a_server_without_its_label(story: Story) -> None:
    story.site.run("vera")
    story.cluster.there = [server("jupyter-vera", user="vera")]
    story.look()
    story.look(120)
    assert story.cluster.ended == []


def test_a_server_whose_lease_is_closed_is_ended(story: Story) -> None:
    grant = story.site.run("vera")
    story.cluster.there = [server("jupyter-vera", lease=grant.lease_id, user="vera")]
    story.site.stop(grant)
    story.look()
    story.look(60)
    assert story.cluster.ended == ["jupyter-vera"]


def test_what_this_ledger_never_granted_is_left_alone(story: Story) -> None:
    """A ledger that was lost or restored from long ago must not end what runs."""
    story.cluster.there = [server("jupyter-eve", lease="l-unknown")]
    story.look()
    story.look(120)
    assert story.cluster.ended == []
    assert story.events() == []


def test_what_another_hub_was_granted_is_none_of_ours(story: Story) -> None:
    grant = story.site.run("vera")
    story.site.stop(grant)
    story.cluster.there = [server("jupyter-vera", lease=grant.lease_id, hub="east")]
    story.look()
    story.look(120)
    assert story.cluster.ended == []


def test_while_quota_is_observed_nothing_is_ended(story: Story) -> None:
    loaded = loads(POLICY.replace("quota: enforce", "quota: observe"))
    story.site.governor.set_policy(loaded, now=story.site.now)
    story.cluster.there = [server("jupyter-eve")]
    story.look()
    story.look(120)
    assert story.cluster.ended == []


def test_a_namespace_that_cannot_be_seen_hides_no_other_and_is_told(story: Story) -> None:
    story.cluster.there = [server("jupyter-eve")]
    story.cluster.blind = "gpu-team-speech"
    for later_s in (0, 60):
        with pytest.raises(UnreachableError):
            story.look(later_s)
    assert story.cluster.ended == ["jupyter-eve"]


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


def test_while_the_api_is_away_nothing_is_ended_and_the_minute_begins_anew(story: Story) -> None:
    story.cluster.there = [server("jupyter-eve")]
    story.look()
    story.cluster.away = True
    with pytest.raises(UnreachableError):
        story.look(120)
    story.cluster.away = False
    story.look()
    assert story.cluster.ended == []
    story.look(60)
    assert story.cluster.ended == ["jupyter-eve"]


def test_every_namespace_of_the_policy_is_looked_at_once(story: Story) -> None:
    policy = story.site.governor.policy
    assert namespaces(policy, None) == ("gpu-maps", "gpu-team-speech")
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


def test_a_server_on_kubernetes_that_holds_a_gpu_is_never_adopted_for_nothing(
    tmp_path: Path,
) -> None:
    key = ServerKey(user=UserName("eve"))
    stranger = Stranger(key, groups=("vision",))
    with site_in(tmp_path, servers="pods") as site:
        governor = site.governor

        def strangers() -> tuple[ServerKey, ...]:
            return governor.strangers((stranger,), since=site.now, now=site.now)

        assert strangers() == (key,), "nobody has looked yet"
        governor.look_at_holders((server("a"),), whole=True, now=site.now)
        assert strangers() == (key,)
        assert governor.leases() == ()
        governor.look_at_holders((), whole=False, now=site.now)
        assert strangers() == (key,), "a part was not seen"
        governor.look_at_holders((), whole=True, now=site.now)
        assert strangers() == ()
        (lease,) = governor.leases()
        assert lease.pool is None
