"""Everybody who may knock: one token for each role, known to the fake hub."""

from tests.support.identities import FakeHubAuth

ROLES = (
    "nobody",
    "stranger",
    "spawner",
    "agent",
    "service",
    "owner",
    "owners-server",
    "owners-other-server",
    "teammate",
    "lead",
    "other-lead",
    "admin",
    "admin-by-session",
    "admins-server",
    "admins-small-token",
    "guest",
)
"""`guest` has a share of the owner's server; `stranger` has a token without access to us."""


def introduce(hub: FakeHubAuth) -> None:
    """Tell the hub of all roles; the token is the role's name."""
    hub.models["stranger"] = {"kind": "user", "name": "vera", "groups": [], "scopes": []}
    hub.service("spawner", "gpu-commons-spawner", "custom:gpu-commons:ask")
    hub.service("agent", "gpu-commons-agent", "custom:gpu-commons:samples")
    hub.service("service", "something-else", "list:users")
    hub.person("owner", "vera", groups=("vision",))
    hub.server("owners-server", "vera")
    hub.server("owners-other-server", "vera", "two")
    hub.person("teammate", "viktor", groups=("vision",))
    hub.person("lead", "lena")
    hub.person("other-lead", "lars")
    hub.person("admin", "ada", scopes=("custom:gpu-commons:admin",))
    hub.person("admin-by-session", "ada", admin=True, session=True)
    hub.server("admins-server", "ada", admin=True)
    hub.person("admins-small-token", "ada", admin=True)
    hub.person("guest", "sue", groups=("speech",), scopes=("access:servers!server=vera/",))
