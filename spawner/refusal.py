"""The one exception that may leave the spawner on purpose, shown by the hub word for word.

Anything but an HTTP error below 500 moves the hub towards its own exit, so every refusal, also
"the governor does not answer", becomes one of these.
"""

from tornado import web

from hub_ext.errors import RefusedError

try:
    from jupyterhub.spawner import SpawnException
except ImportError:  # JupyterHub 5 has no exception of its own for this
    SpawnException = None

_BASE: type[web.HTTPError] = SpawnException or web.HTTPError
_CONFLICT = 409
_CLIENT_ERRORS = range(400, 500)


class SpawnRefusal(_BASE):  # type: ignore[valid-type,misc]
    """A refusal as the hub wants it.

    Parameters
    ----------
    error
        What was refused; its message is what form, pages and JSON show.
    """

    def __init__(self, error: RefusedError) -> None:
        # 5xx would be counted by the hub, whatever the reason was.
        status = error.status if error.status in _CLIENT_ERRORS else _CONFLICT
        if SpawnException is None:
            super().__init__(status, error.message)
        else:
            super().__init__(error.message, reason=error.code, status_code=status)
        self.code = error.code
        # The attribute that the form, both pages and the API read on 5.5 and 6.1 alike;
        # `message` of 6's own exception reaches the API alone.
        self.jupyterhub_message = error.message
        self.headers = (
            {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
        )
