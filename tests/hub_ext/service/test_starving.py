"""What a GPU waits for, from the agent's readings to the views and pages of owner and lead."""

from datetime import timedelta
from pathlib import Path

from hub_ext.lease import Activity, DeviceSample, Grant, ProcessSample, SampleBatch
from tests.hub_ext.service.test_pages import shown, words
from tests.support.governing import Site, site_in

MIB, GIB = 1024**2, 1024**3


def works(site: Site, grant: Grant, *, cpu: int = 1010, minutes: int = 10) -> None:
    """Let the agent read a server whose GPU is half busy, and look at it."""
    [device] = grant.devices
    for _minute in range(minutes):
        at = site.later(60)
        used = DeviceSample(
            device=device.id,
            at=at,
            util_percent=45,
            memory_used_bytes=30 * GIB,
            memory_total_bytes=141 * GIB,
            pcie_kib_s=400 * 1024,
        )
        tasks = ProcessSample(
            lease_id=grant.lease_id,
            at=at,
            cpu_millis=cpu,
            processes=4,
            disk_bytes_s=20 * MIB,
            disk_stalled_percent=1,
            net_bytes_s=MIB,
            cpu_stalled_percent=0,
        )
        batch = SampleBatch(
            node=device.node,
            source="nvml",
            sent_at=at,
            period_s=60,
            devices=(used,),
            processes=(tasks,),
        )
        site.governor.take_samples(batch, now=at)
    look(site)


def look(site: Site) -> None:
    for lease_id in site.governor.to_look_at(now=site.now):
        site.governor.look_at_use(lease_id, now=site.now)


def test_a_gpu_fed_by_one_process_is_told_to_its_owner_and_lead_with_what_to_try(
    tmp_path: Path,
) -> None:
    with shown(tmp_path, lambda site: works(site, site.run("vera"))) as served:
        for path, token in (("leases/l-0001", "owner"), ("team/vision", "lead"), ("", "owner")):
            text = words(served(path, token))
            assert "The GPU is 45 % busy and waits for the CPU that feeds it" in text
            assert "DataLoader(num_workers=" in text
        page = words(served("leases/l-0001", "lead"))
        assert "CPU at its limit 1.01 of 2 cores" in page
        assert "Network has room 1 MiB/s" in page


def test_a_view_has_it_while_the_server_lives_and_a_gpu_is_there(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        grant, alone = site.run("sam"), site.run("sue", "cpu")
        assert site.governor.view_of(grant.lease_id, now=site.now).waits_for is None
        works(site, grant, cpu=300)
        found = site.governor.view_of(grant.lease_id, now=site.now).waits_for
        assert found is not None
        assert (found.cause, found.at) == ("none", site.now)
        assert site.governor.view_of(alone.lease_id, now=site.now).waits_for is None
        site.stop(grant)
        look(site)
        assert site.governor.view_of(grant.lease_id, now=site.now).waits_for is None
        assert site.governor.look_at_use(grant.lease_id, now=site.now) is None


def test_a_server_that_tells_of_cudas_full_memory_is_helped_for_a_while(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        grant = site.run("sam")
        works(site, grant, cpu=300)
        full = Activity(at=site.now, kernels=1, kernels_busy=0, out_of_memory_at=site.now)
        site.governor.take_activity(grant.key, full, now=site.now)
        look(site)
        found = site.governor.view_of(grant.lease_id, now=site.now).waits_for
        assert found is not None
        assert found.cause == "memory"
        assert "gradient accumulation" in found.remedy
        later = site.later(16 * 60)
        told = full.model_copy(update={"at": later})
        site.governor.take_activity(grant.key, told, now=later)
        works(site, grant, cpu=300, minutes=1)
        found = site.governor.view_of(grant.lease_id, now=site.now).waits_for
        assert found is not None
        assert found.cause != "memory"
        assert site.now - full.at > timedelta(minutes=15)
