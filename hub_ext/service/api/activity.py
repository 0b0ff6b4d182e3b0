"""What a server says of itself: taken from that server's own token and from nobody else."""

from http import HTTPStatus

from ...errors import RefusedError
from ...i18n import _
from ...lease import Activity, ServerKey, ServerName, UserName
from ..http.web import BaseHandler
from .leases import DEFAULT_SERVER

MOST_BYTES = 4096
"""Several times what an honest word of a server takes."""


class ActivityHandler(BaseHandler):
    """`POST servers/{user}/{server}/activity`: kernels, terminals and the last real input."""

    kinds = frozenset({"server"})
    # An administrator has no word on what somebody else's kernels do.
    admins = False
    act = _("tell what a server does; the server itself may")

    async def post(self, user: str, server: str) -> None:
        """Keep it until the next; nothing is answered."""
        name = "" if server == DEFAULT_SERVER else server
        key = ServerKey(
            hub=self.governor_settings.hub, user=UserName(user), server=ServerName(name)
        )
        if key not in self.caller.servers:
            raise _other_server()
        if len(self.request.body) > MOST_BYTES:
            raise _too_large()
        told = self.body(Activity)
        await self.core.run(lambda core, now: core.take_activity(key, told, now=now))
        self.set_status(HTTPStatus.NO_CONTENT)


def _other_server() -> RefusedError:
    return RefusedError(
        "other-server",
        _("This token stands for another server. A server tells of itself alone."),
        status=HTTPStatus.FORBIDDEN,
    )


def _too_large() -> RefusedError:
    return RefusedError(
        "too-large",
        _("What a server says of itself takes at most {most} bytes; send less.").format(
            most=MOST_BYTES
        ),
        figures={"most_bytes": MOST_BYTES},
        status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    )
