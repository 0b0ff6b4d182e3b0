"""`configure(c, policy=…)`: the one call that makes a JupyterHub a governed one.

Right for JupyterHub 6.1 and 5.5.4. It adds to what the site's configuration already says and
replaces only what would break refusals; each replacement is a sentence in the hub's log.
"""

import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from jupyterhub import version_info
from traitlets.config import Config
from traitlets.config.loader import LazyConfigValue
from traitlets.log import get_logger

from .errors import GpuCommonsError, LedgerError
from .i18n import _
from .intruders import check
from .ledger.places import noted
from .spawning import (
    ANY_HOST,
    SpawnerName,
    choose,
    default_api_url,
    on_kubernetes,
)
from .statedir import LOOPBACK, StateDir

GOVERNOR = "gpu-commons"
SPAWNER = "gpu-commons-spawner"
AGENT = "gpu-commons-agent"
CLI = "gpu-commons-cli"
ACCESS = f"access:services!service={GOVERNOR}"
SCOPES = {
    "custom:gpu-commons:admin": "Administer the shared GPUs: see and end every lease",
    "custom:gpu-commons:ask": "Ask for GPU grants on behalf of starting servers",
    "custom:gpu-commons:samples": "Report readings of GPUs",
}
SLOW_SPAWN_S = 5
"""How long a start request waits for its outcome. The ask alone may take 2 s, and a refusal that
comes later is answered 202, without words."""

_HUB_6 = version_info[0] >= 6  # noqa: PLR2004 - the version that brought `start:servers`


@dataclass(frozen=True)
class _Site:
    """What all steps need: the configuration, where state lies, where the governor listens."""

    c: Config
    state: StateDir
    url: str
    environment: dict[str, str]
    spawner: type
    elsewhere: bool
    """The governor is a service of its own that the hub does not start."""


def configure(  # noqa: PLR0913 - a configuration call: keywords with defaults, named at the call
    c: Config,
    *,
    policy: str | Path | None = None,
    state: str | Path | None = None,
    devices: Literal["auto", "nvml", "simulated"] = "auto",
    agent: bool = True,
    hub: str = "hub",
    admins: Iterable[str] = (),
    admin_groups: Iterable[str] = (),
    settings: Mapping[str, object] | None = None,
    api_url: str | None = None,
    spawner: SpawnerName | type | None = None,
    governor: str | None = None,
    tokens: str | Path | None = None,
) -> StateDir:
    """Add governor, agent, spawner, roles and scopes to a hub's configuration.

    Parameters
    ----------
    c
        The hub's configuration. Call this last, so that what it adds to lists stays there.
    policy, state
        The policy file, which the governor follows, and a private directory for ledger and tokens
        (default: GPU_COMMONS_STATE, else `gpu-commons` beside the hub).
    devices, agent
        Where GPUs come from, and whether the hub runs the agent that reads this machine's.
    hub, admins, admin_groups
        Name of this hub in keys of leases; users and groups who administer GPUs besides its own.
    settings
        Traits of `GovernorConfig` by name, for example `{"cycle_s": 1}`; the agent's `period_s`.
    api_url
        Address of the API as users' servers reach it. Default: through the hub's proxy.
    spawner
        `local`, `kubernetes` or a governed class. Default: what the hub has, made governed.
    governor, tokens
        Address of a governor that runs by itself, and the directory of the tokens shared with it.

    Raises
    ------
    GpuCommonsError
        A foreign package answers to one of our names, or policy file or a token is not as it must.
    """
    check()
    chosen, replaces = choose(_present(c.JupyterHub, "spawner_class", None), spawner)
    folder = Path(state or os.environ.get("GPU_COMMONS_STATE") or "gpu-commons")
    kept = StateDir(folder, tokens=None if tokens is None else Path(tokens))
    rules = _policy_file(policy, elsewhere=governor is not None) or ""
    more = {"state": kept.path, "policy": rules, "devices": devices, "hub": hub}
    environment = _environment({**more, **_ledger(), **(settings or {})})
    url = (governor or f"http://{LOOPBACK}:{kept.port('governor')}").rstrip("/")
    site = _Site(c, kept, url, environment, chosen, elsewhere=governor is not None)
    _add_services(site, agent=agent, period_s=(settings or {}).get("period_s"))
    _add_roles(site, agent=agent, admins=admins, admin_groups=admin_groups)
    _open_to_users(c)
    _set_spawner(site, hub, api_url or default_api_url(chosen), replaces=replaces)
    _keep_refusals_harmless(c)
    _remember(site, hub)
    return kept


def _policy_file(policy: str | Path | None, *, elsewhere: bool) -> Path | None:
    """Find the policy file; a governor that runs elsewhere has its own."""
    if policy is None and elsewhere:
        return None
    found = Path(policy or "policy.yaml").expanduser().absolute()
    if not found.is_file():
        raise GpuCommonsError(
            _("There is no policy file at {path}. Name the right one in configure().").format(
                path=found
            )
        )
    return found


def _environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Environment of the services, which read their settings from it."""
    named = {f"GPU_COMMONS_{name.upper()}": str(value) for name, value in settings.items()}
    # A hub leaves its services LANG and LC_ALL, not the two that choose words alone.
    words = {name: os.environ[name] for name in ("LANGUAGE", "LC_MESSAGES") if name in os.environ}
    return {**named, **words, **_import_path()}


def _remember(site: _Site, hub: str) -> None:
    """Write down for commands on this machine where things are, and how the hub is set."""
    c, told = site.c, site.environment
    site.state.note(
        hub=hub,
        policy=told["GPU_COMMONS_POLICY"],
        api=_api(site),
        ledger_url=_noted(told.get("GPU_COMMONS_LEDGER_URL", "")),
        engine=told.get("GPU_COMMONS_ENGINE", "embedded"),
        servers=told.get("GPU_COMMONS_SERVERS", "processes"),
        kube_namespace=told.get("GPU_COMMONS_KUBE_NAMESPACE", ""),
        set={
            "hub_version": ".".join(str(part) for part in version_info[:3]),
            "slow_spawn_timeout": c.JupyterHub.tornado_settings["slow_spawn_timeout"],
            "consecutive_failure_limit": c.Spawner.get("consecutive_failure_limit", 0),
            "last_activity_interval": c.JupyterHub.get("last_activity_interval", 300),
            "public_url": _public(c),
            "home_size": _home_size(c),
        },
    )


def _home_size(c: Config) -> str:
    """What the hub claims for each home on Kubernetes; empty where it claims none."""
    ensured = _present(c.KubeSpawner, "storage_pvc_ensure", empty=False)
    return str(_present(c.KubeSpawner, "storage_capacity", "")) if ensured else ""


def _public(c: Config) -> str:
    """Address that the proxy binds, as this machine reaches it."""
    bound = urlsplit(str(_present(c.JupyterHub, "bind_url", "") or "http://:8000"))
    host = LOOPBACK if bound.hostname in ANY_HOST else bound.hostname
    base = str(_present(c.JupyterHub, "base_url", "") or bound.path).rstrip("/")
    return f"{bound.scheme}://{host}:{bound.port or (443 if bound.scheme == 'https' else 80)}{base}"


def _ledger() -> dict[str, str]:
    """Where the ledger is, told to the hub by its environment; a service inherits little of it."""
    url = os.environ.get("GPU_COMMONS_LEDGER_URL")
    return {"ledger_url": url} if url else {}


def _noted(url: str) -> str:
    """The ledger's address without a password; one that cannot be read the governor refuses."""
    try:
        return noted(url)
    except LedgerError:
        return ""


def _import_path() -> dict[str, str]:
    """Let services import what this hub imported, where that is no installed package."""
    root = Path(__file__).parent.parent
    if str(root) in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        return {}
    rest = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{root}{os.pathsep}{rest}" if rest else str(root)}


def _add_services(site: _Site, *, agent: bool, period_s: object) -> None:
    start = [sys.executable, "-P", "-m", __package__]
    run = {"cwd": str(site.state.path), "environment": site.environment}
    services: list[dict[str, Any]] = [
        {
            "name": GOVERNOR,
            "url": site.url,
            "api_token": site.state.token("governor"),
            "oauth_no_confirm": True,
            # Groups tell whose lead somebody is; `admin` comes with the name.
            "oauth_client_allowed_scopes": ["custom:gpu-commons:admin", "read:users:groups!user"],
            **({} if site.elsewhere else {"command": [*start, "governor"], **run}),
        },
        {"name": SPAWNER, "api_token": site.state.token("spawner"), "display": False},
        {"name": CLI, "api_token": site.state.token("cli"), "display": False},
    ]
    if agent:
        # The ledger's address may hold a password, and the agent has no use for it.
        kept = {k: v for k, v in site.environment.items() if k != "GPU_COMMONS_LEDGER_URL"}
        beside = {**kept, "GPU_COMMONS_GOVERNOR_URL": _api(site)}
        command = [*start, "agent", *(["--period", str(period_s)] if period_s else [])]
        # On Kubernetes agents run where the GPUs are, and only their token is known here.
        here = not (site.elsewhere or on_kubernetes(site.spawner))
        services.append(
            {
                "name": AGENT,
                "api_token": site.state.token("agent"),
                "display": False,
                **({"command": command, **run, "environment": beside} if here else {}),
            }
        )
    _extend(site.c.JupyterHub, "services", services)


def _add_roles(
    site: _Site, *, agent: bool, admins: Iterable[str], admin_groups: Iterable[str]
) -> None:
    _merge(
        site.c.JupyterHub,
        "custom_scopes",
        {name: {"description": words} for name, words in SCOPES.items()},
    )
    # `start:servers` was split off in 6; naming it on 5.5 stops the hub.
    start = ["start:servers"] if _HUB_6 else ["servers"]
    roles: list[dict[str, Any]] = [
        {
            "name": "gpu-commons-governor",
            "services": [GOVERNOR],
            "scopes": [
                "list:users",
                "read:users:name",
                "read:users:groups",
                "read:servers",
                "delete:servers",
                *start,
            ],
        },
        {
            "name": "gpu-commons-spawner",
            "services": [SPAWNER],
            "scopes": ["custom:gpu-commons:ask", ACCESS],
        },
        {
            "name": "gpu-commons-cli",
            "services": [CLI],
            "scopes": ["custom:gpu-commons:admin", ACCESS],
        },
        {
            "name": "gpu-commons-admin",
            "scopes": ["custom:gpu-commons:admin"],
            "users": sorted(admins),
            "groups": sorted(admin_groups),
        },
    ]
    if agent:
        roles.append(
            {
                "name": "gpu-commons-agent",
                "services": [AGENT],
                "scopes": ["custom:gpu-commons:samples", ACCESS],
            }
        )
    _extend(site.c.JupyterHub, "load_roles", roles)


def _open_to_users(c: Config) -> None:
    """Let every user, and every server with its own token, reach the governor."""
    roles = _present(c.JupyterHub, "load_roles", [])
    own = next((role for role in roles if role.get("name") == "user"), None)
    if own is not None:
        # A role that the site defines itself makes the hub ignore `extra_user_scopes`.
        own["scopes"] = [*dict.fromkeys([*own.get("scopes", ["self"]), ACCESS])]
    elif _HUB_6:
        known = _present(c.JupyterHub, "extra_user_scopes", set())
        c.JupyterHub.extra_user_scopes = {*known, ACCESS}
    else:
        _extend(c.JupyterHub, "load_roles", [{"name": "user", "scopes": ["self", ACCESS]}])
    scopes = _present(c.Spawner, "server_token_scopes", [])
    c.Spawner.server_token_scopes = _server_scopes(scopes)


def _server_scopes(
    scopes: list[str] | Callable[[Any], list[str]],
) -> list[str] | Callable[[Any], list[str]]:
    """Add what the Lab extension needs to the scopes of a server's own token."""
    if callable(scopes):
        asked = scopes
        return lambda spawner: [*dict.fromkeys([*asked(spawner), ACCESS])]
    base = scopes or ["users:activity!user", "access:servers!server"]
    return [*dict.fromkeys([*base, ACCESS])]


def _set_spawner(
    site: _Site, hub: str, api_url: str | Callable[[object], str], *, replaces: bool
) -> None:
    if replaces:
        _say(
            _("GPU Commons replaces spawner_class {old} by {new}.").format(
                old=site.c.JupyterHub.spawner_class, new=site.spawner.__name__
            )
        )
    # The class, never its name: a name is looked up in the working directory first.
    site.c.JupyterHub.spawner_class = site.spawner
    governed = site.c.GovernedMixin
    governed.governor_url = _api(site)
    governed.token_file = str(site.state.token_file("spawner"))
    governed.state_dir = str(site.state.path)
    governed.hub_name = hub
    _set_variable(site, "GPU_COMMONS_API_URL", api_url)


def _set_variable(site: _Site, name: str, value: object) -> None:
    """Give all servers a variable, wherever the site has set theirs.

    What is set on a subclass, as the chart does on KubeSpawner, takes the place of `Spawner`'s.
    """
    _merge(site.c.Spawner, "environment", {name: value})
    classes = {one.__name__ for one in site.spawner.__mro__} - {"Spawner"}
    for section in [one for one in site.c if one in classes]:
        if isinstance(site.c[section].get("environment"), Mapping):
            _merge(site.c[section], "environment", {name: value})


def _keep_refusals_harmless(c: Config) -> None:
    """See to it that a refusal is a 4xx with words, and never moves the hub towards its exit."""
    settings = _present(c.JupyterHub, "tornado_settings", {})
    slow = settings.get("slow_spawn_timeout", SLOW_SPAWN_S)
    if slow < SLOW_SPAWN_S:
        _say(
            _(
                "GPU Commons sets slow_spawn_timeout to {new} s instead of {old} s: "
                "a refusal that comes later than that is answered 202, without its reason."
            ).format(new=SLOW_SPAWN_S, old=slow)
        )
    c.JupyterHub.tornado_settings = {**settings, "slow_spawn_timeout": max(slow, SLOW_SPAWN_S)}
    if _HUB_6:
        return
    # 5.5 counts every failed start, a refusal too; a limit on a subclass would win over this.
    for name in [section for section in c if section.endswith("Spawner")]:
        if "consecutive_failure_limit" in c[name]:
            c[name].consecutive_failure_limit = 0
    c.Spawner.consecutive_failure_limit = 0
    _say(
        _(
            "GPU Commons sets consecutive_failure_limit to 0: JupyterHub 5 counts a refused "
            "start as a failure and would stop itself after a few. JupyterHub 6 does not."
        )
    )


def _api(site: _Site) -> str:
    """Address of the API as the hub's own processes reach it: straight, without the proxy."""
    hub = site.c.JupyterHub
    base = _present(hub, "base_url", "") or urlsplit(_present(hub, "bind_url", "")).path
    prefix = f"/{base.strip('/')}" if base.strip("/") else ""
    return f"{site.url}{prefix}/services/{GOVERNOR}/api/v1"


def _present(section: Config, name: str, empty: Any) -> Any:  # noqa: ANN401 - as traitlets holds it
    """Value that the configuration has so far, with `append` and the like carried out."""
    value = section.get(name, empty)
    return value.get_value(empty) if isinstance(value, LazyConfigValue) else value


def _extend(section: Config, name: str, items: list[dict[str, Any]]) -> None:
    section[name] = [*_present(section, name, []), *items]


def _merge(section: Config, name: str, items: Mapping[str, Any]) -> None:
    section[name] = {**_present(section, name, {}), **items}


def _say(words: str) -> None:
    get_logger().warning(words)
