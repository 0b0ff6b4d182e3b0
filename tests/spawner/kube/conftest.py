"""Real spawners against a Kubernetes API that behaves, with a governor that grants pods."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyterhub import orm
from jupyterhub.objects import Hub
from jupyterhub.user import User
from kubernetes_asyncio.config import kube_config
from kubespawner.clients import load_config

from hub_ext.lease import Ask, Offer, PodDataset, PodTerms, PodVolume, Toleration
from spawner import client as client_module
from spawner.kube import GovernedKubeSpawner
from tests.support.fake_kube_api import FakeKube
from tests.support.governor import TOKEN, FakeGovernor

NAMESPACE = "gpu-atlas"
IMAGE = "registry.example/vision/atlas@sha256:" + "a" * 64
VOLUME = PodVolume(
    claim="project",
    shared=True,
    size_bytes=50 * 2**30,
    storage_class="fast",
    access="ReadWriteMany",
    mount="/project",
)

FAST = {
    "scheduling_timeout": 3.0,
    "scaling_timeout": 6.0,
    "pull_timeout": 3.0,
    "boot_timeout": 3.0,
    "trouble_timeout": 1.0,
    "stop_timeout": 2.0,
    "start_timeout": 30,
    "delete_grace_period": 1,
    "k8s_api_request_retry_timeout": 3,
}
"""Every time-out as short as a test can bear on a busy machine."""


def terms_of(ask: Ask, offer: Offer, **changes: Any) -> PodTerms:
    """Make the terms of a pod as a governor does."""
    gpu = offer.pool is not None
    fields: dict[str, Any] = {
        "namespace": NAMESPACE,
        "image": IMAGE,
        "pull_secrets": ("registry",),
        "resource_name": "nvidia.com/mig-1g.18gb" if gpu else None,
        "resource_count": 1 if gpu else 0,
        "node_selector": {"gpu-commons.dev/pool": "main"} if gpu else {},
        "tolerations": (Toleration(key="nvidia.com/gpu", effect="NoSchedule"),) if gpu else (),
        "runtime_class": "nvidia" if gpu else None,
        "priority_class": "gpu-commons",
        "labels": {
            "app.kubernetes.io/managed-by": "gpu-commons",
            "gpu-commons.dev/lease": "lease-1",
            "gpu-commons.dev/team": "vision",
        },
        "annotations": {"gpu-commons.dev/attempt": ask.attempt_id},
        "volume": VOLUME,
        "datasets": (PodDataset(claim="imagenet", mount="/data/imagenet"),),
        "scratch_bytes": 20 * 2**30,
    }
    return PodTerms(**{**fields, **changes})


@dataclass
class KubeHub:
    """What a hub on a cluster has: its governor, the API, and people's spawners."""

    kube: FakeKube
    governor: FakeGovernor
    token_file: Path
    state: Path
    db: Any
    settings: dict[str, Any] = field(default_factory=dict)

    def spawner(self, user: str = "ada", server: str = "", **changes: Any) -> GovernedKubeSpawner:
        """Make a spawner as the hub does: from the database's row, with its state."""
        row = self.db.query(orm.User).filter_by(name=user).one_or_none()
        if row is None:
            row = orm.User(name=user)
            self.db.add(row)
            self.db.commit()
        person = User(row, {"base_url": "/"})
        if server not in person.orm_spawners:
            person._new_orm_spawner(server, server)
        settings = {
            "hub": Hub(),
            "cmd": ["jupyterhub-singleuser"],
            "namespace": "hub",
            "governor_url": self.governor.url,
            "token_file": str(self.token_file),
            "state_dir": str(self.state),
            **FAST,
            **self.settings,
            **changes,
        }
        options = settings.pop("user_options", {"profile": "mig-small"})
        spawner: GovernedKubeSpawner = person._new_spawner(
            server, spawner_class=GovernedKubeSpawner, **settings
        )
        spawner.user_options = options
        spawner.clear_state()
        spawner.api_token = "a" * 32
        spawner.follow_period = 0.2
        return spawner

    def run(self, story: Callable[[], Awaitable[None]]) -> None:
        """Run a story in a loop of its own, and end what it left behind."""

        async def told() -> None:
            try:
                await asyncio.wait_for(story(), 60)
            finally:
                await GovernedKubeSpawner._stop_all_reflectors()

        asyncio.run(told())


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubeHub]:
    kubeconfig = tmp_path / "kubeconfig"
    token = tmp_path / "token"
    token.write_text(TOKEN)
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    load_config.cache_clear()
    GovernedKubeSpawner._said.clear()
    db = orm.new_session_factory("sqlite:///:memory:")()
    with FakeGovernor.running() as governor, FakeKube.running(kubeconfig) as kube:
        governor.pod_of = terms_of
        yield KubeHub(kube, governor, token, tmp_path / "state", db)
        for client in client_module._CLIENTS.values():
            client.outbox.close()
        client_module._CLIENTS.clear()
    db.close()
