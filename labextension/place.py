"""Which server this is, and where its governor answers: read from the environment, once."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from hub_ext.lease import Value


class Place(Value):
    """One server's own identity; `token` never leaves this process except to the governor.

    `user` is empty outside a hub, `api_url` where the hub named no governor.
    """

    user: str = ""
    server: str = ""
    api_url: str = ""
    token: str = ""

    @property
    def lease_url(self) -> str:
        """Address of this server's lease; the default server is written `-`."""
        user, server = quote(self.user, safe=""), quote(self.server or "-", safe="")
        return f"{self.api_url}/servers/{user}/{server}/lease"

    @property
    def activity_url(self) -> str:
        """Address at which this server tells what it does."""
        return f"{self.lease_url.removesuffix('/lease')}/activity"

    @property
    def pages_path(self) -> str:
        """Path of the governor's pages as a browser sees it, with its last slash."""
        path = urlsplit(self.api_url).path.rstrip("/")
        return path.removesuffix("/api/v1") + "/" if path else ""


def read_place(environ: Mapping[str, str]) -> Place:
    """Read what the hub and the spawner put into this server's environment."""
    return Place(
        user=environ.get("JUPYTERHUB_USER", ""),
        server=environ.get("JUPYTERHUB_SERVER_NAME", ""),
        api_url=environ.get("GPU_COMMONS_API_URL", "").rstrip("/"),
        token=environ.get("JUPYTERHUB_API_TOKEN", ""),
    )
