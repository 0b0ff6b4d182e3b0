"""Who calls, told from the hub's own model of a token, and what each kind of caller may do.

Pure: the model comes in, a value goes out. What is not granted here is refused.
"""

from collections.abc import Collection, Mapping
from typing import Literal

from ...lease import Actor, OpenLease, ServerKey, ServerName, UserName, Value
from ...policy.catalogue import led_by
from ...policy.model import Policy

ADMIN = "custom:gpu-commons:admin"
ASK = "custom:gpu-commons:ask"
SAMPLES = "custom:gpu-commons:samples"
READ_METRICS = "read:metrics"
"""The hub's own scope for Prometheus; ours answers to the same."""

SPAWNER_NAME = "gpu-commons-spawner"
CLI_NAME = "gpu-commons-cli"
"""Service whose token only the hub's user and root can read: commands on the hub's machine."""

Kind = Literal["person", "server", "spawner", "agent", "service"]

_OWN_SERVER = "access:servers!server="


class Caller(Value):
    """One caller of the API.

    A `server` acts for the servers in `servers` alone, whoever owns them. `admin` is never true
    for a server, a spawner or an agent: their tokens lie where others may read them.
    """

    kind: Kind
    name: str
    groups: tuple[str, ...] = ()
    admin: bool = False
    metrics: bool = False
    servers: tuple[ServerKey, ...] = ()

    @property
    def actor(self) -> Actor:
        """The caller as the ledger names who did something."""
        kind: Literal["user", "service"] = (
            "user" if self.kind in {"person", "server"} else "service"
        )
        return Actor(kind=kind, name=self.name, admin=self.admin, groups=self.groups)

    def acting(self, by: str) -> Actor:
        """The caller as who did something by hand; a command on the machine says who typed it."""
        if self.kind == "service" and self.name == CLI_NAME and by:
            return Actor(kind="cli", name=by, admin=True)
        return self.actor

    def owns(self, key: ServerKey) -> bool:
        """Whether the caller may act on a server: its owner, itself, or an admin."""
        if self.admin:
            return True
        if self.kind == "server":
            return key in self.servers
        return self.kind == "person" and key.user == self.name

    def leads(self, policy: Policy | None) -> tuple[str, ...]:
        """Teams whose leases and spend the caller may read as their lead."""
        if policy is None or self.kind != "person":
            return ()
        return led_by(policy, self.name)

    def sees(self, lease: OpenLease, policy: Policy | None) -> bool:
        """Whether the caller may know of a lease at all."""
        return self.owns(lease.key) or lease.team in self.leads(policy)


def caller_of(model: Mapping[str, object], *, hub: str) -> Caller:
    """Read the hub's model of the token that a request carries.

    Parameters
    ----------
    model
        What the hub answers to `GET /user`: kind, name, scopes, groups, admin, session_id.
    hub
        Name of the hub, for the keys of servers.
    """
    scopes = frozenset(_texts(model.get("scopes")))
    name = str(model.get("name", ""))
    if model.get("kind") == "service":
        return _service(name, scopes)
    groups = tuple(sorted(_texts(model.get("groups"))))
    servers = _own_servers(name, scopes, hub)
    if servers:
        return Caller(kind="server", name=name, groups=groups, servers=servers)
    admin = _is_admin(model, scopes)
    metrics = admin or READ_METRICS in scopes
    return Caller(kind="person", name=name, groups=groups, admin=admin, metrics=metrics)


def _service(name: str, scopes: frozenset[str]) -> Caller:
    if name == SPAWNER_NAME and ASK in scopes:
        return Caller(kind="spawner", name=name)
    if SAMPLES in scopes:
        return Caller(kind="agent", name=name)
    admin = ADMIN in scopes
    return Caller(kind="service", name=name, admin=admin, metrics=admin or READ_METRICS in scopes)


def _own_servers(name: str, scopes: Collection[str], hub: str) -> tuple[ServerKey, ...]:
    """Servers that a server's own token stands for; none for the token of a person.

    A person's token reaches all of their servers at once; a guest's share names the owner's.
    """
    if f"access:servers!user={name}" in scopes or "access:servers" in scopes:
        return ()
    found = []
    for scope in sorted(scopes):
        owner, slash, server = scope.removeprefix(_OWN_SERVER).partition("/")
        if scope.startswith(_OWN_SERVER) and slash and owner == name:
            found.append(ServerKey(hub=hub, user=UserName(owner), server=ServerName(server)))
    return tuple(found)


def _is_admin(model: Mapping[str, object], scopes: Collection[str]) -> bool:
    """Whether a person acts as an admin with this very token.

    The hub's `admin` flag is told with every token; one that was made for less, for a script,
    carries neither of the scopes and belongs to no browser session.
    """
    if ADMIN in scopes or "admin:users" in scopes:
        return True
    return model.get("admin") is True and bool(model.get("session_id"))


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple | set | frozenset):
        return ()
    return tuple(str(value) for value in values)
