"""etcd and kube-apiserver on loopback, and whoever else of a control plane a test asks for.

Everything is new at each start, in a folder of its own, and ends with the tests.
"""

import http.client
import itertools
import json
import os
import shutil
import ssl
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

from tests.support.ports import free_port

from .api import LOOK_S, Api, ApiError, Manifest
from .certs import Papers, make_papers
from .processes import Processes
from .programs import Shop

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient

ADMIN_TOKEN = "admin-of-the-tests"
START_S = 90
_namespaces = itertools.count(1)


@dataclass
class ControlPlane:
    """A running API server with its store.

    Attributes
    ----------
    folder
        Logs (`etcd.log`, `kube-apiserver.log`, …), certificates and kubeconfig files.
    api
        The administrator's client.
    kubeconfig
        The administrator's file, for programs.
    """

    folder: Path
    processes: Processes
    papers: Papers
    api: Api
    kubeconfig: Path
    shop: Shop = field(repr=False, default_factory=Shop)
    _health: dict[str, str] = field(repr=False, default_factory=dict)

    @classmethod
    @contextmanager
    def running(cls, folder: Path) -> Iterator["ControlPlane"]:
        """Run one for the length of a `with` block.

        Raises
        ------
        NotBuiltError
            If its programs were not built.
        ProgramEndedError
            If one does not come up.
        """
        shop = Shop()
        shop.require(["etcd", "kube-apiserver"])
        folder.mkdir(parents=True, exist_ok=True)
        papers = make_papers(folder / "papers")
        api = Api(f"https://127.0.0.1:{free_port()}", papers.authority, ADMIN_TOKEN)
        processes = Processes(folder)
        plane = cls(folder, processes, papers, api, folder / "admin.kubeconfig", shop)
        plane.write_kubeconfig(plane.kubeconfig, ADMIN_TOKEN)
        try:
            plane._start_server(plane._start_store())
            yield plane
        finally:
            processes.close()
            # The logs tell what happened; the store is large, and of no use to anybody.
            shutil.rmtree(folder / "etcd", ignore_errors=True)

    def _start_store(self) -> str:
        clients, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.processes.start(
            "etcd",
            self.shop.path("etcd"),
            *("--data-dir", self.folder / "etcd", "--unsafe-no-fsync"),
            *("--listen-client-urls", clients, "--advertise-client-urls", clients),
            *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
            *("--initial-cluster", f"default={peers}"),
        )
        self.wait_healthy("etcd", f"{clients}/health")
        return clients

    def _start_server(self, store: str) -> None:
        tokens = self.folder / "tokens.csv"
        tokens.write_text(f'{ADMIN_TOKEN},admin,1,"system:masters"\n')
        papers = self.papers
        self.processes.start(
            "kube-apiserver",
            self.shop.path("kube-apiserver"),
            *("--etcd-servers", store),
            *("--bind-address", "127.0.0.1", "--secure-port", self.api.url.rpartition(":")[2]),
            *("--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.96.0.0/16"),
            *("--tls-cert-file", papers.server, "--tls-private-key-file", papers.server_key),
            *("--cert-dir", self.folder / "kube-apiserver", "--token-auth-file", tokens),
            *("--authorization-mode", "Node,RBAC", "--allow-privileged=true"),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--service-account-key-file", papers.tokens_public),
            *("--service-account-signing-key-file", papers.tokens_private),
            # A lost node shows in seconds.
            "--default-not-ready-toleration-seconds=5",
            "--default-unreachable-toleration-seconds=5",
        )
        self.wait_healthy("kube-apiserver", f"{self.api.url}/readyz")

    def start_again(self, name: str) -> None:
        """Start a program that was ended (`processes.end`), and wait until it is well."""
        self.processes.start_again(name)
        self.wait_healthy(name, self._health[name])

    def wait_healthy(self, name: str, url: str) -> None:
        """Wait until a program answers 200 at an address of its own."""
        self._health[name] = url
        context = ssl.create_default_context(cafile=self.papers.authority)
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})

        def ready() -> bool:
            try:
                secure = context if url.startswith("https") else None
                with urllib.request.urlopen(request, context=secure, timeout=5) as answer:
                    return bool(answer.status == 200)
            except (URLError, OSError):
                return False

        self.processes.wait(name, ready, seconds=START_S)

    # --- clients ---------------------------------------------------------------------------------

    def write_kubeconfig(self, file: Path, token: str) -> None:
        """Write a kubeconfig of whoever holds a token; JSON is YAML, too."""
        cluster = {"server": self.api.url, "certificate-authority": str(self.papers.authority)}
        one = "test"
        file.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": one,
                    "contexts": [{"name": one, "context": {"cluster": one, "user": one}}],
                    "clusters": [{"name": one, "cluster": cluster}],
                    "users": [{"name": one, "user": {"token": token}}],
                }
            )
        )
        file.chmod(0o600)

    @asynccontextmanager
    async def client(self, kubeconfig: Path | None = None) -> AsyncIterator["ApiClient"]:
        """Open a `kubernetes_asyncio` client, the administrator's unless told otherwise."""
        # A second at the start of every run of the tests, if it stood above.
        from kubernetes_asyncio.config import new_client_from_config  # noqa: PLC0415

        client = await new_client_from_config(str(kubeconfig or self.kubeconfig))
        try:
            yield client
        finally:
            await client.close()

    # --- objects ---------------------------------------------------------------------------------

    def namespace(self, prefix: str = "test", **labels: str) -> str:
        """Make a namespace that no other test has, with the service account that pods need."""
        name = f"{prefix}-{os.getpid()}-{next(_namespaces)}"
        meta = {"name": name, "labels": labels}
        self.api.create(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
        )
        self.service_account(name, "default")
        self._wait_until_known(name)
        return name

    def _wait_until_known(self, namespace: str) -> None:
        """See that pods may be made in a new namespace: Kueue's webhook learns of it a bit later.

        Any refusal but "not found" is an answer about the pod, and so of one who knows the place.
        """
        spec = {"containers": [{"name": "c", "image": "none"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "is-it-known"}, "spec": spec}
        until = time.monotonic() + START_S
        while True:
            try:
                self.api.create(f"/api/v1/namespaces/{namespace}/pods", pod, dryRun="All")
            except ApiError as refusal:
                if refusal.code != http.client.NOT_FOUND:
                    return
                if time.monotonic() > until:
                    raise
                time.sleep(LOOK_S)
            else:
                return

    def service_account(self, namespace: str, name: str) -> str:
        """Make a service account if there is none; return its name as a user."""
        manifest = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }
        self.api.apply([manifest])
        return f"system:serviceaccount:{namespace}:{name}"

    def token(self, namespace: str, name: str) -> str:
        """Make a token of a service account, as its pods would have one; good for a day."""
        body: Manifest = {"spec": {"expirationSeconds": 86_400}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        made: str = self.api.create(path, body)["status"]["token"]
        return made

    def user_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write the kubeconfig of a service account and return its path."""
        file = self.folder / f"{namespace}-{name}.kubeconfig"
        self.write_kubeconfig(file, self.token(namespace, name))
        return file

    def allowed(self, user: str, verb: str, resource: str, namespace: str, group: str = "") -> bool:
        """Whether a user may do something, by the API server's own word."""
        attributes = {
            "verb": verb,
            "group": group,
            "resource": resource.partition("/")[0],
            "subresource": resource.partition("/")[2],
            "namespace": namespace,
        }
        body = {"spec": {"user": user, "resourceAttributes": attributes}}
        answer = self.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
        return bool(answer["status"]["allowed"])
