"""Settings of the governor's process: traitlets, as in the rest of Jupyter, or `GPU_COMMONS_*`.

Rules that people agree on are no settings; they are in the policy file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from traitlets import Enum, Float, Int, TraitError, Unicode
from traitlets.config import Config, Configurable

from ...errors import PolicyError
from ...i18n import _

ENVIRONMENT_PREFIX = "GPU_COMMONS_"


@dataclass(frozen=True)
class Settings:
    """The settings as the core gets them: plain, frozen. `GovernorConfig` explains each."""

    state: Path
    policy: Path
    hub: str
    devices: Literal["auto", "nvml", "simulated"]
    api_url: str
    cycle_s: float
    reconcile_s: float
    intents_s: float
    policy_poll_s: float
    stop_retry_s: float
    forgotten_s: float
    seen_s: float
    agent_silence_s: float
    look_s: float
    longest_poll_s: float
    takeover_s: float
    most_waiters: int
    most_body_bytes: int
    ledger_url: str = field(default="", repr=False)
    engine: Literal["embedded", "kueue"] = "embedded"
    kubeconfig: str = ""
    kube_namespace: str = ""
    kube_hub_namespace: str = ""
    servers: Literal["processes", "pods"] = "processes"
    notice_urls: str = ""
    notice_secret: str = ""
    notice_smtp: str = ""
    notice_smtp_password: str = ""
    notice_from: str = ""
    notice_people: str = ""
    notice_pages: str = ""

    @property
    def on_kubernetes(self) -> bool:
        """Whether servers are pods: then devices are places, and grants say what a pod is."""
        return self.engine == "kueue" or self.servers == "pods"


def _seconds(default: float, words: str) -> Float[float, int | float]:
    """Make a trait for an interval: shorter than 50 ms would spin, longer than a day is off."""
    return Float(default, min=0.05, max=86400, help=words).tag(config=True)


class _Address(Unicode[str, str | bytes]):
    """An address that may hold a password: no warning of traitlets quotes it."""

    def from_string(self, s: str) -> str:
        """Take text as it is, without the blanks around it."""
        return s.strip()


class GovernorConfig(Configurable):
    """How one governor runs. Each trait may be set by `GPU_COMMONS_<NAME>` as well."""

    state = Unicode(
        help="""Directory of the ledger, the tokens and the servers' homes; mode 0700.

        Default: `gpu-commons` in the working directory, so that nothing global is touched."""
    ).tag(config=True)
    policy = Unicode(help="Policy file. Default: `policy.yaml` in the working directory.").tag(
        config=True
    )
    ledger_url = _Address(
        help="""Address of the PostgreSQL that holds the ledger, `postgresql+psycopg://ROLE@HOST/DB`.

        Default: empty, which is `ledger.sqlite` in the state directory. Keep a password out of it
        where you can: libpq reads `PGPASSFILE` and `~/.pgpass`."""
    ).tag(config=True)
    hub = Unicode(
        "hub",
        help="""Name of this hub in every key of the ledger.

        Default `hub`; change it only where several hubs share a ledger.""",
    ).tag(config=True)
    devices = Enum(
        ["auto", "nvml", "simulated"],
        "auto",
        help="""Where devices come from; the agent reads it too.

        Default `auto`: NVML where there is a driver, else the simulated node.""",
    ).tag(config=True)
    engine = Enum(
        ["embedded", "kueue"],
        "embedded",
        help="""Who admits leases: the governor by itself, or Kueue on Kubernetes.

        Default `embedded`, which needs nothing installed. With `kueue` each lease with a GPU is a
        Workload, and nothing starts before Kueue has admitted it.""",
    ).tag(config=True)
    servers = Enum(
        ["processes", "pods"],
        "processes",
        help="""What servers are: processes of this machine, or pods of a cluster.

        Default `processes`. Where Kueue admits they are pods in any case; set `pods` for a small
        cluster without Kueue.""",
    ).tag(config=True)
    kubeconfig = Unicode(
        help="""File that says where the Kubernetes API is and who we are there.

        Default: empty, which is the account of the pod that the governor runs in."""
    ).tag(config=True)
    kube_namespace = Unicode(
        help="""The one namespace of all servers, where a site has none for each project.

        Default: empty: each project has its own namespace, which isolates better."""
    ).tag(config=True)
    kube_hub_namespace = Unicode(
        help="""Namespace that the hub runs in, for the rules that let servers reach it.

        Default: empty, which is the namespace of the governor's own pod."""
    ).tag(config=True)
    api_url = Unicode(
        help="""Base of the API as user servers reach it, through the proxy.

        Default: empty; `configure()` sets it."""
    ).tag(config=True)
    notice_urls = Unicode(
        help="""Addresses that notices may be posted to, apart by blanks: `https://chat.example/hooks/`.

        Default: empty, which is none. What the policy names as `webhook` has to begin with one of
        them: whoever writes the policy cannot reach everything that this machine can."""
    ).tag(config=True)
    notice_secret = Unicode(
        help="""File with the secret that posted notices are signed with, mode 0600.

        Default: empty; without a secret nothing is posted. The text is taken as it is, or as
        base64 behind `whsec_`."""
    ).tag(config=True)
    notice_smtp = Unicode(
        help="""Mail server: `smtp://HOST:PORT`, `smtps://HOST`, `smtp+starttls://USER@HOST:PORT`.

        Default: empty, which sends no mail."""
    ).tag(config=True)
    notice_smtp_password = Unicode(
        help="""File with the password for `notice_smtp`, mode 0600.

        Default: empty; needed where that names a user."""
    ).tag(config=True)
    notice_from = Unicode(
        help="""Address that mails come from. Default: empty; without one no mail is sent."""
    ).tag(config=True)
    notice_people = Unicode(
        "{user}",
        help="""How a person's mail address follows from their name: `{user}@example.org`.

        Default `{user}`: names of the hub are addresses.""",
    ).tag(config=True)
    notice_pages = Unicode(
        help="""Public address of the governor's pages for mails, with its last slash.

        Default: empty; mails then name no page. For example
        `https://hub.example/services/gpu-commons/`."""
    ).tag(config=True)
    cycle_s = _seconds(
        5.0,
        """Seconds between two rounds of idle rules and lifetimes.

        Default 5: a notice is never late by more, and a round costs milliseconds.""",
    )
    reconcile_s = _seconds(
        60.0,
        """Seconds between two comparisons with the hub.

        Default 60: a lease without a server is charged at most a minute too long.""",
    )
    intents_s = _seconds(
        1.0,
        "Seconds between two looks at the acts still to be done. Default 1.",
    )
    policy_poll_s = _seconds(
        1.0,
        """Seconds between two looks at the policy file.

        Default 1: polling also works on network file systems and mounted config maps.""",
    )
    stop_retry_s = _seconds(
        15.0,
        """Seconds after which an unfinished stop is asked of the hub again.

        Default 15: the hub itself waits 10 s for a stop before it answers.""",
    )
    forgotten_s = _seconds(
        30.0,
        """Seconds that a process which the hub has forgotten gets to end by itself.

        Default 30. Then it is sent SIGTERM, and after `stop_retry_s` SIGKILL. Its device is held
        until it is gone.""",
    )
    seen_s = _seconds(
        60.0,
        """Seconds between two records that a server was seen alive.

        Default 60: a lost server is charged until then, so a minute is the largest error.""",
    )
    agent_silence_s = _seconds(
        60.0,
        """Seconds without news from a node's agent until it is called silent.

        Default 60; the devices of a silent node are not handed out.""",
    )
    look_s = _seconds(
        60.0,
        """Seconds between two looks at how GPUs are used: what they wait for, and what is odd.

        Default 60: what is told is of minutes and hours.""",
    )
    longest_poll_s = _seconds(
        60.0,
        """Longest time in seconds that `wait_s` holds a request open.

        Default 60: proxies commonly cut a silent answer after that.""",
    )
    takeover_s = _seconds(
        10.0,
        """Longest wait in seconds for a former governor to leave its port and ledger.

        Default 10: it ends within a second after its hub; the hub starts us again in 30.""",
    )
    most_waiters = Int(
        32,
        help="""Most held requests for one server.

        Default 32: one for each open tab is plenty, and a fault cannot exhaust memory.""",
    ).tag(config=True)
    most_body_bytes = Int(
        1_048_576,
        help="""Largest request body in bytes.

        Default 1 MiB: a batch of samples of a node with 16 GPUs in 112 parts takes 60 KiB.""",
    ).tag(config=True)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], config: Config | None = None) -> Self:
        """Read `GPU_COMMONS_*`; what a configuration file sets wins.

        Raises
        ------
        PolicyError
            When a value has the wrong form; names the variable.
        """
        config = config or Config()
        given: dict[str, object] = {}
        faults = []
        for name, trait in cls.class_traits(config=True).items():
            text = environment.get(ENVIRONMENT_PREFIX + name.upper())
            if not text or name in config.get(cls.__name__, {}):
                continue
            try:
                given[name] = trait.from_string(text)
            except (TraitError, ValueError):
                faults.append(_wrong(name, text))
        if faults:
            raise PolicyError(tuple(faults))
        try:
            return cls(config=config, **given)
        except TraitError as error:
            raise PolicyError((str(error),)) from error

    def settings(self) -> Settings:
        """Return the plain settings."""
        plain = {name: getattr(self, name) for name in self.trait_names(config=True)}
        return Settings(
            **{
                **plain,
                "state": Path(self.state or "gpu-commons").absolute(),
                "policy": Path(self.policy or "policy.yaml").absolute(),
            }
        )


def _wrong(name: str, text: str) -> str:
    return _("{variable}={text!r} cannot be read; see the help of {name}").format(
        variable=ENVIRONMENT_PREFIX + name.upper(), text=text, name=name
    )
