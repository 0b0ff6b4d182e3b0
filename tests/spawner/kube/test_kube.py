"""One start after another on a cluster, when all goes well: what is asked for and reported."""

from hub_ext.lease import Liveness, ReportKind
from tests.spawner.kube.conftest import IMAGE, NAMESPACE, KubeHub


def test_a_grant_becomes_a_pod_and_the_governor_hears_of_both_ends(hub: KubeHub) -> None:
    async def story() -> None:
        spawner = hub.spawner()
        assert await spawner.start() == "http://127.0.0.1:8888"
        assert await spawner.poll() is None
        assert hub.kube.pods() == [f"{NAMESPACE}/jupyter-ada"]
        hub.governor.wait_for_reports(1)
        await spawner.stop()
        assert hub.kube.pods() == []
        await spawner.run_post_stop_hook()

    hub.run(story)
    started, ended = hub.governor.wait_for_reports(2)
    assert (started.kind, started.liveness) == (ReportKind.started, Liveness.alive)
    assert (ended.liveness, ended.asked, ended.refused) == (Liveness.gone, True, False)
    assert ended.reason is None
    assert hub.governor.grants == {}
    assert hub.kube.made[0]["spec"]["containers"][0]["image"] == IMAGE
