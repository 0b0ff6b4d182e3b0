"""Which spawner a governed hub starts servers with, and where those servers find the governor.

It hands over classes, never names: a name is looked up in the working directory first.
"""

import os
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlsplit

from .errors import GpuCommonsError
from .i18n import _

__all__ = ["ANY_HOST", "SpawnerName", "api_url_for_servers", "api_url_in_cluster", "choose"]

SpawnerName = Literal["local", "kubernetes"]

ANY_HOST = {None, "", "*", "0.0.0.0", "::"}  # noqa: S104 - told apart here, not bound

_LOOPBACK = "127.0.0.1"
_OURS = "gpu-commons-"
"""Beginning of the names under which JupyterHub finds our spawners."""

_SERVICE = "/services/gpu-commons/api/v1"
_PROXY = "PROXY_PUBLIC_SERVICE_HOST", "PROXY_PUBLIC_SERVICE_PORT"
"""Where the Zero to JupyterHub chart's proxy is, as Kubernetes tells the hub's own container. Its
address rather than its name: servers stand in other namespaces."""


def choose(chosen: object, wanted: SpawnerName | type | None) -> tuple[type, bool]:
    """Choose the spawner class.

    Parameters
    ----------
    chosen
        What the configuration has so far: a class, a name, or None.
    wanted
        What was asked of `configure()`; None keeps a governed class, and takes ours for
        Kubernetes where the site has KubeSpawner.

    Returns
    -------
    tuple[type, bool]
        The class, and whether it replaces another that the site had chosen.

    Raises
    ------
    GpuCommonsError
        A class was asked for that is not governed, or KubeSpawner is not installed.
    """
    # Only now: before `check()` a foreign `spawner` would have been imported and run.
    from spawner.governed import GovernedMixin  # noqa: PLC0415

    if isinstance(wanted, type):
        if not issubclass(wanted, GovernedMixin):
            raise GpuCommonsError(
                _(
                    "{name} is not governed. Derive it from one of the spawners of GPU Commons."
                ).format(name=wanted.__name__)
            )
        return wanted, False
    if wanted is None and isinstance(chosen, type) and issubclass(chosen, GovernedMixin):
        return chosen, False
    kubernetes = wanted == "kubernetes" or (wanted is None and _is_kubespawner(chosen))
    found = _for_kubernetes() if kubernetes else _for_this_machine()
    ours = chosen is None or chosen is found or str(chosen).startswith(_OURS)
    return found, not ours


def on_kubernetes(spawner: type) -> bool:
    """Whether servers are pods; asked without importing what a hub of one machine lacks."""
    return any(one.__name__ == "KubeSpawner" for one in spawner.__mro__)


def _is_kubespawner(chosen: object) -> bool:
    if isinstance(chosen, type):
        return on_kubernetes(chosen)
    name = chosen.rpartition(".")[2].lower() if isinstance(chosen, str) else ""
    return name in {"kubespawner", "kubernetes", f"{_OURS}kubernetes"}


def _for_this_machine() -> type:
    from spawner.local import GovernedLocalSpawner  # noqa: PLC0415

    return GovernedLocalSpawner


def _for_kubernetes() -> type:
    try:
        from spawner.kube import GovernedKubeSpawner  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise GpuCommonsError(
            _(
                "Servers on Kubernetes need KubeSpawner, and {name} is not installed: "
                "pip install 'jupyterhub-gpu-commons[hub,kubernetes]'"
            ).format(name=error.name)
        ) from error
    return GovernedKubeSpawner


def api_url_for_servers(_spawner: object) -> str:
    """Address of the API as a server on this machine reaches it: through the proxy.

    Called by the hub at each start, when the proxy's address is settled.
    """
    app = _hub()
    bound = urlsplit(app.bind_url)
    host = _LOOPBACK if bound.hostname in ANY_HOST else bound.hostname
    port = bound.port or (443 if bound.scheme == "https" else 80)
    return f"{bound.scheme}://{host}:{port}{app.base_url.rstrip('/')}{_SERVICE}"


def api_url_in_cluster(spawner: object) -> str:
    """Address of the API as a pod reaches it: through the chart's proxy, by its own address."""
    host, port = (os.environ.get(name, "") for name in _PROXY)
    if not host:
        return api_url_for_servers(spawner)
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port or 80}{_hub().base_url.rstrip('/')}{_SERVICE}"


def default_api_url(spawner: type) -> Callable[[object], str]:
    """Give the way in which servers of a spawner class find the API."""
    return api_url_in_cluster if on_kubernetes(spawner) else api_url_for_servers


def _hub() -> Any:  # noqa: ANN401 - JupyterHub ships no types
    from jupyterhub.app import JupyterHub  # noqa: PLC0415 - the running hub, only inside it

    return JupyterHub.instance()
