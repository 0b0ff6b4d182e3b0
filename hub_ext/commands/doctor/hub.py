"""Checks of the hub, its proxy, the governor, the ledger and the policy."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from ...errors import LedgerError, PolicyError
from ...i18n import _
from ...ledger.beside import reading
from ...ledger.places import place
from ...ledger.verify import examine
from ...policy.load import load
from .findings import Finding, Look, ask, ok, warn, wrong

MOST_EVENTS = 100_000
"""Events that are gone through here, in some seconds; a longer ledger has its own command."""

_HUB_5, _HUB_6 = (5, 5, 4), (6, 1, 0)
_OK = 200
_SLOW_S = 5


def hub(look: Look) -> Iterator[Finding]:
    """Whether the hub is a version that this product was made for, and runs."""
    try:
        installed = version("jupyterhub")
    except PackageNotFoundError:
        yield wrong(
            _("JupyterHub is not installed beside this command"),
            _("run the gpu-commons of the hub's own environment"),
        )
        return
    found = tuple(int(part) for part in installed.split(".")[:3] if part.isdecimal())
    if found < _HUB_5 or (6, 0, 0) <= found < _HUB_6:
        yield wrong(
            _("JupyterHub {version} is too old").format(version=installed),
            _("install 6.1 or newer, or 5.5.4 or newer of 5.5"),
        )
    elif found >= (7, 0, 0):
        yield warn(
            _("JupyterHub {version} is newer than this product knows").format(version=installed),
            _("look for a newer version of GPU Commons"),
        )
    else:
        yield ok(_("JupyterHub {version}").format(version=installed))
    if look.hub_api is None:
        return
    answer = ask(look.hub_api)
    running = answer.body.get("version") if isinstance(answer.body, dict) else None
    if answer.status != _OK:
        yield wrong(
            _("the hub does not answer at {url}: {words}").format(
                url=look.hub_api, words=answer.words
            ),
            _("start it; its log file says why it ended"),
        )
    elif running != installed:
        yield warn(
            _("the running hub is {running}").format(running=running),
            _("restart it after an upgrade"),
        )


def settings(look: Look) -> Iterator[Finding]:
    """Whether `configure()` was called, and what it left keeps refusals harmless."""
    told = look.settings
    if not told:
        yield wrong(
            _("configure() never ran with this state directory"),
            _("call it at the end of jupyterhub_config.py and restart the hub"),
        )
        return
    faults = 0
    if _number(told.get("slow_spawn_timeout")) < _SLOW_S:
        faults += 1
        yield wrong(
            _("slow_spawn_timeout is below {n} s, so refusals lose their words").format(n=_SLOW_S),
            _("let configure() set it: call it last"),
        )
    old = str(told.get("hub_version", "")).startswith("5")
    if old and _number(told.get("consecutive_failure_limit")) > 0:
        faults += 1
        yield wrong(
            _("consecutive_failure_limit is set: refusals count, and end the hub"),
            _("let configure() set it to 0: call it last"),
        )
    if _number(told.get("last_activity_interval")) == 0:
        faults += 1
        yield warn(
            _("last_activity_interval is 0: the hub does not hear of traffic through the proxy"),
            _("a culler that goes by the hub's last_activity would stop servers in use"),
        )
    if not faults:
        yield ok(_("configure() ran; refusals keep their words and never end the hub"))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def proxy(look: Look) -> Iterator[Finding]:
    """Whether the governor is reached through the hub's public address."""
    url = look.url or look.settings.get("public_url")
    answer = ask(f"{str(url).rstrip('/')}/services/gpu-commons/healthz") if url else None
    if answer is not None and answer.status in {_OK, 503} and isinstance(answer.body, dict):
        yield ok(_("the governor answers through the proxy at {url}").format(url=url))
    elif answer is None or (look.url is None and answer.status == 0):
        # The address that the configuration binds need not be one that is reached from here.
        yield warn(
            _("the way through the proxy was not tried"),
            _("name the hub's public address with --url"),
        )
    else:
        yield wrong(
            _("{url} answers {words} for the governor").format(
                url=url, words=answer.status or answer.words
            ),
            _("start the proxy; if it runs, restart the hub so that it adds the route"),
        )


def governor(look: Look) -> Iterator[Finding]:
    """Whether a governor lives, hears its agents, and what it complains of itself."""
    if look.governor is None:
        yield wrong(
            _("no governor lives"), _("start the hub; its log file says why the governor ended")
        )
        return
    health = look.health
    if not isinstance(health.body, dict):
        yield wrong(
            _("the governor, process {pid}, does not answer: {words}").format(
                pid=look.governor or "?", words=health.words
            ),
            _("end that process; the hub starts it again"),
        )
        return
    problems = health.body.get("problems", [])
    for one in problems:
        finding = warn(str(one.get("message")), _("the admin page names what and where"))
        yield wrong(finding.words, finding.remedy) if one.get("code") in _GRAVE else finding
    if not any(one.get("code") == "agents" for one in problems):
        yield ok(_("the governor, process {pid}, hears its agents").format(pid=look.governor))


_GRAVE = frozenset({"agents", "loops"})
"""Complaints after which nothing is handed out, or nothing is reclaimed."""


def ledger(look: Look) -> Iterator[Finding]:
    """Whether the books can be read and are what their events say."""
    site = look.site
    try:
        with reading(site.state, url=site.ledger_url) as tx:
            events = tx.head()
        if events > MOST_EVENTS:
            yield warn(
                _("the ledger has {n} events and was not gone through").format(n=events),
                _("run `gpu-commons ledger verify`"),
            )
            return
        found = examine(place(site.state, site.ledger_url))
    except LedgerError as error:
        yield wrong(str(error), _("restore a backup, or name the right directory"))
        return
    if found.difference:
        yield wrong(
            _("the ledger differs from its events: {words}").format(words=found.difference),
            _("keep a copy of it as it is, and restore a backup"),
        )
    else:
        yield ok(_("the ledger is what its {n} events say").format(n=found.events))


def policy(look: Look) -> Iterator[Finding]:
    """Whether the policy file can be used, and is the one in force."""
    file = look.site.policy
    if file is None:
        yield wrong(_("no policy file is known"), _("call configure() and restart the hub"))
        return
    try:
        loaded = load(file)
    except (PolicyError, OSError) as error:
        first = str(error).partition("\n")[0]
        yield wrong(first, _("run `gpu-commons check` on it and mend what it names"))
        return
    if loaded.warnings:
        yield warn(
            _("{file} can be used, with {n} warnings").format(file=file, n=len(loaded.warnings)),
            _("run `gpu-commons check` on it"),
        )
    else:
        yield ok(_("{file} can be used").format(file=file))
    try:
        with reading(look.site.state, url=look.site.ledger_url) as tx:
            newest = tx.generation()
    except LedgerError:
        return
    if newest is None or newest[1] != loaded.text:
        yield warn(
            _("the file is not what is in force"),
            _("`gpu-commons policy diff` shows what differs; the admin page says why"),
        )
