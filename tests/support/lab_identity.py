"""Gives a Jupyter Server two people, told apart by token, where no hub tells them apart."""

from typing import Any

from jupyter_server.auth.identity import IdentityProvider, User

OWNER_TOKEN = "owner-token"
GUEST_TOKEN = "guest-token"
PEOPLE = {OWNER_TOKEN: "alice", GUEST_TOKEN: "bob"}


class TwoPeople(IdentityProvider):
    """`alice`, whose server it is, and `bob`, who visits."""

    async def get_user_token(self, handler: Any) -> User | None:
        """Tell who comes with this token."""
        name = PEOPLE.get(self.get_token(handler) or "")
        return None if name is None else User(username=name)
