"""What every request has in common: who calls, what the body says, and how errors look.

Errors of the API are RFC 9457 problems with words for people. No secret is ever in one.
"""

import logging
from http import HTTPStatus
from types import TracebackType
from typing import Any, TypeVar

from jupyterhub.services.auth import HubOAuth, HubOAuthenticated
from pydantic import ValidationError
from tornado.web import HTTPError, RequestHandler

from ...errors import RefusedError, UnreachableError
from ...i18n import _
from ...lease import Value
from ..basis.access import Caller, Kind, caller_of
from ..basis.refusals import not_allowed
from ..books.config import Settings
from ..core.runner import CoreRunner
from .problems import bad_body, problem_of

LOG = logging.getLogger("gpu_commons")

V = TypeVar("V", bound=Value)

LONGEST_NAME = 255
"""Characters of a name that the ledger keeps whole; JupyterHub's own database keeps no more."""


class BaseHandler(HubOAuthenticated, RequestHandler):
    """A request whose caller is known. `self.caller` is set once `prepare` is done."""

    page = False
    """Whether a browser without a sign-in is sent to the hub instead of getting a 401."""

    kinds: frozenset[Kind] = frozenset({"person"})
    """Kinds of caller that may come here."""

    admins = True
    """Whether an admin may come here, of whatever kind."""

    act = _("see this")
    """What is done here, for "This token may not …"."""

    caller: Caller

    @property
    def hub_auth(self) -> HubOAuth:
        """The hub's own way to tell whose token it is."""
        return self.settings["hub_auth"]

    @property
    def core(self) -> CoreRunner:
        """The way into the core."""
        core: CoreRunner = self.settings["core"]
        return core

    @property
    def governor_settings(self) -> Settings:
        """Settings of this process."""
        settings: Settings = self.settings["governor_settings"]
        return settings

    async def prepare(self) -> None:
        """Find out who calls before anything else happens."""
        self._refuse_large_body()
        model = await self._hub_model()
        if model is None:
            if self.page and self.request.method in {"GET", "HEAD"}:
                self.redirect(self.get_login_url())
                return
            raise self._unknown_caller()
        scopes = self.hub_auth.access_scopes
        if scopes and not self.hub_auth.check_scopes(scopes, model):
            raise not_allowed(_("use this service"))
        caller = caller_of(model, hub=self.governor_settings.hub)
        if len(caller.name) > LONGEST_NAME:
            raise _long_name()
        if caller.kind not in self.kinds and not (self.admins and caller.admin):
            raise not_allowed(self.act)
        self.caller = caller

    async def _hub_model(self) -> dict[str, Any] | None:
        try:
            model: dict[str, Any] | None = await self.hub_auth.get_user(self, sync=False)
        except HTTPError as error:
            raise UnreachableError(str(error.log_message)) from error
        return model

    def _unknown_caller(self) -> RefusedError:
        if self.get_cookie(self.hub_auth.cookie_name):
            return RefusedError(
                "sign-in-again",
                _(
                    "Your sign-in does not cover this request: it has run out, or the page's "
                    "own token is missing. Reload the page and try again."
                ),
                status=403,
            )
        return RefusedError(
            "sign-in",
            _("This needs a token of the hub. Send it as `Authorization: token …`, or sign in."),
            status=401,
        )

    def _refuse_large_body(self) -> None:
        most = self.governor_settings.most_body_bytes
        if len(self.request.body) > most:
            raise RefusedError(
                "too-large",
                _(
                    "The body has more than {most} bytes; no more are read. Send less at once."
                ).format(most=most),
                figures={"most_bytes": most},
                status=413,
            )

    def get_current_user(self) -> dict[str, Any] | None:
        """Return the hub's model of the caller; `prepare` has asked for it already."""
        model: dict[str, Any] | None = getattr(self, "_cached_hub_user", None)
        return model

    def set_default_headers(self) -> None:
        """Say nothing of the server, keep nothing, and let nothing be framed."""
        self.clear_header("Server")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

    def body(self, shape: type[V]) -> V:
        """Read the body as JSON of one shape.

        Raises
        ------
        RefusedError
            400 with the places that are wrong.
        """
        try:
            return shape.model_validate_json(self.request.body)
        except ValidationError as error:
            raise bad_body(error) from error

    def answer(self, value: Value, status: int = HTTPStatus.OK) -> None:
        """Answer with a value as JSON."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(value.model_dump_json())

    def write_error(
        self,
        status_code: int,
        *,
        exc_info: tuple[object, BaseException | None, object] = (None, None, None),
        **_kwargs: object,
    ) -> None:
        """Answer any error as a problem."""
        error = exc_info[1]
        problem = problem_of(error, status_code)
        self.set_status(problem.status)
        if problem.retry_after_s is not None:
            self.set_header("Retry-After", str(problem.retry_after_s))
        if problem.status == HTTPStatus.UNAUTHORIZED:
            self.set_header("WWW-Authenticate", 'token realm="gpu-commons"')
        self.set_header("Content-Type", "application/problem+json")
        self.finish(problem.model_dump_json())

    def log_exception(
        self,
        typ: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Keep refusals out of the log's errors; they are answers."""
        if isinstance(value, RefusedError):
            LOG.info("%s %s: %s", self.request.method, self.request.path, value.code)
        elif isinstance(value, HTTPError) or problem_of(value, 500).code != "internal":
            LOG.warning("%s %s: %s", self.request.method, self.request.path, value)
        else:
            super().log_exception(typ, value, tb)


def _long_name() -> RefusedError:
    return RefusedError(
        "long-name",
        _(
            "Your name on this hub has more than {most} characters, which the ledger cannot keep. "
            "Ask the hub's administrator for a shorter one."
        ).format(most=LONGEST_NAME),
        figures={"most": LONGEST_NAME},
        status=HTTPStatus.BAD_REQUEST,
    )


class OpenHandler(BaseHandler):
    """A request that anybody may make; nobody is asked who calls."""

    async def prepare(self) -> None:
        """Ask nobody."""


class NotFoundHandler(OpenHandler):
    """Every path that does not exist."""

    async def prepare(self) -> None:
        """Answer before any method is looked up."""
        raise HTTPError(HTTPStatus.NOT_FOUND)
