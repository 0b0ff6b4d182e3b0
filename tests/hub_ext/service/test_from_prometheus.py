"""Idleness by what a Prometheus tells: both witnesses must be known and quiet all the time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Grant, SampleBatch, VerdictState, WatchList
from hub_ext.service.workers.cull import Culler
from hub_ext.telemetry.prometheus import PrometheusReader, Where
from tests.support.fake_prometheus import FakePrometheus, gpu, prometheus
from tests.support.governing import POLICY, Site, site_in

PERIOD_S = 30
A_DAY_S = 86_400
VERA = gpu("GPU-8f1c", "node-2", "jupyter-vera")


@dataclass
class Story:
    """A site on a cluster, and one Prometheus that is asked each half minute."""

    site: Site
    server: FakePrometheus
    grant: Grant
    watches: dict[str, WatchList] = field(default_factory=dict)
    culler: Culler = field(default_factory=Culler)

    def __post_init__(self) -> None:
        self.reader = PrometheusReader(Where(self.server.url), PERIOD_S)

    def go_on(self, minutes: int, *, util: float | None, cores: float | None) -> None:
        for _ in range(minutes * 60 // PERIOD_S):
            now = self.server.now = self.site.later(PERIOD_S)
            if util is not None:
                self.server.tell(VERA, util=util)
            self.server.cpu("jupyter-vera", cores)
            for batch in self.reader.batches(self.watches, now, None):
                self.watches[batch.node] = self.site.governor.take_samples(batch, now=now)
            self.culler.look(self.site.governor, self.grant.lease_id, now)

    @property
    def state(self) -> VerdictState:
        verdict = self.site.governor.view(self.grant.key, now=self.site.now).verdict
        assert verdict is not None
        return verdict.state


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    policy = POLICY.replace("{default: 1h, longest: 2h}", "{default: 90h, longest: 99h}")
    with (
        site_in(tmp_path / "state", policy=policy, servers="pods") as site,
        prometheus(site.now) as server,
    ):
        grant = site.run("vera")
        site.governor.take_servers({("gpu-maps", "jupyter-vera"): grant.lease_id})
        # The agents that told of the devices at first are silent long since.
        site.later(A_DAY_S)
        yield Story(site, server, grant)


def test_quiet_gpu_and_quiet_cpu_are_idle_and_the_source_is_named(story: Story) -> None:
    story.go_on(20, util=0, cores=0.001)
    assert story.state is VerdictState.idle
    verdict = story.site.governor.view(story.grant.key, now=story.site.now).verdict
    assert verdict is not None
    sources = {one.name: one.source for one in verdict.signals if one.trust == "agent"}
    assert sources["gpu GPU-8f1c"] == "prometheus"
    assert sources["cpu"] == "cgroup", "cAdvisor counts by the pod's control group"


def test_a_gpu_at_zero_alone_is_never_enough(story: Story) -> None:
    story.go_on(20, util=0, cores=None)
    assert story.state is VerdictState.unknown


@pytest.mark.parametrize(("util", "cores"), [(60, 0.001), (0, 3.0)])
def test_one_witness_that_works_keeps_it(story: Story, util: float, cores: float) -> None:
    story.go_on(20, util=util, cores=cores)
    assert story.state is VerdictState.active


def test_while_the_exporter_is_not_read_it_is_unknown(story: Story) -> None:
    story.go_on(10, util=0, cores=0.001)
    story.go_on(20, util=None, cores=0.001)
    assert story.state is VerdictState.unknown


def test_an_agent_on_the_machine_is_believed_before_it(story: Story) -> None:
    story.go_on(2, util=0, cores=0.001)
    now = story.site.now
    home = SampleBatch(node="node-2", source="nvml", sent_at=now, period_s=20)
    story.site.governor.take_samples(home, now=now)
    story.site.later(5)
    told = story.reader.batches(story.watches, story.site.now, None)
    assert story.site.governor.take_samples(told[0], now=story.site.now).leases == ()
    assert story.site.governor._desk.floor.source("node-2") == "nvml"
    story.site.now += timedelta(hours=1)
    story.server.now = story.site.now
    story.server.tell(VERA, util=0)
    [late] = story.reader.batches(story.watches, story.site.now, None)
    story.site.governor.take_samples(late, now=story.site.now)
    assert story.site.governor._desk.floor.source("node-2") == "prometheus"
