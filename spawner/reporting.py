"""What a spawner knows of an attempt and tells the governor, through hub restarts and bad ends.

It reports and releases nothing: the hub runs its last hook also after refusals, and while a
process still lives because `stop()` or `poll()` failed.
"""

from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jupyterhub.spawner import Spawner
from jupyterhub.utils import maybe_future
from traitlets import Float, Instance, Unicode

from hub_ext.errors import UnreachableError
from hub_ext.lease import (
    Liveness,
    ProcessRef,
    Reason,
    Report,
    ReportKind,
    ServerKey,
    ServerName,
    UserName,
)

from .client import GovernorClient, client_for
from .trace import Trace, read_trace

STATE_KEY = "gpu_commons"


class ReportingMixin(Spawner):
    """The half of a governed spawner that remembers and reports."""

    governor_url = Unicode(
        help="Base of the governor's API as the hub reaches it, without a slash at its end."
    ).tag(config=True)
    token_file = Unicode(help="File with the token of the service gpu-commons-spawner.").tag(
        config=True
    )
    hub_name = Unicode("hub", help="Name of this hub in keys of leases.").tag(config=True)
    ask_timeout = Float(
        2.0,
        help="Seconds for one ask, retries included. Ask and refusal must fit into the hub's "
        "slow_spawn_timeout, or a refusal is answered 202 without words.",
    ).tag(config=True)

    trace = Instance(Trace, allow_none=True, help="The attempt under way, or the server it made.")
    former = Instance(Trace, allow_none=True, help="An earlier server not yet known to be gone.")

    asking = False
    """Whether `start` waits for the governor."""

    @property
    def key(self) -> ServerKey:
        """Whose server this is. Starts by an admin belong to the owner all the same."""
        return ServerKey(
            hub=self.hub_name, user=UserName(self.user.name), server=ServerName(self.name or "")
        )

    # -- the process behind the server -------------------------------------------------------

    def server_process(self) -> ProcessRef | None:
        """Process of the server that was just started, where it is one of this machine."""
        return None

    async def former_liveness(self) -> Liveness:
        """Whether an earlier server of the same name still lives.

        A spawner class answers from its own knowledge. It must not poll here: before a start,
        the hub's local spawner takes a poll as the time to clear its state, the new server's
        token with it.
        """
        return Liveness.gone

    async def exit_code(self) -> int | None:
        """With what the server ended, where that is known."""
        return await self.poll()

    def end_reason(self) -> Reason | None:
        """Why the server ended, in words for its person, where a spawner class knows."""
        return None

    async def liveness(self) -> Liveness:
        """What is known of the server now; a poll that fails proves nothing."""
        try:
            return Liveness.alive if await self.poll() is None else Liveness.gone
        except Exception:
            self.log.exception("Cannot tell whether %s lives", self._log_name)
            return Liveness.unknown

    async def poll(self) -> int | None:
        """Poll as the real spawner does, and keep the trace: some clear state when they see an end.

        The hook that reports the end runs after such a poll. While `start` waits for the
        governor the answer is "running", as the hub demands of a start that has not returned.
        """
        if self.asking:
            return None
        trace, former = self.trace, self.former
        status: int | None = await maybe_future(super().poll())
        if self.trace is None:
            self.trace = trace
        if self.former is None:
            self.former = former
        return status

    async def start(self) -> Any:  # noqa: ANN401 - whatever the real spawner returns
        """Start as the real spawner does."""
        return await maybe_future(super().start())

    async def stop(self, now: bool = False) -> None:  # noqa: FBT001, FBT002 - the hub's signature
        """Stop as the real spawner does; remembers that it was asked."""
        if self.trace is not None:
            self.trace = self.trace.model_copy(update={"asked": True})
        await maybe_future(super().stop(now=now))

    # -- reports and state ---------------------------------------------------------------------

    async def run_post_stop_hook(self) -> None:
        """Report the end with what is known now. Releases nothing: it proves nothing."""
        status = await self._tell_end()
        self.log.debug("End of %s reported as %s", self._log_name, status)
        hooked: Awaitable[None] | None = super().run_post_stop_hook()
        await maybe_future(hooked)

    async def _tell_end(self) -> Liveness:
        now = await self.liveness()
        trace = self.trace
        if trace is not None and not trace.launched:
            self.report_end(Liveness.gone)
        elif trace is not None:
            self.report_end(now, await self.exit_code() if now is Liveness.gone else None)
        if self.former is not None and await self.former_liveness() is Liveness.gone:
            self._report(self.former, _ended(self.key, self.former, Liveness.gone))
            self.former = None
        return now

    def report_end(self, now: Liveness, exit_code: int | None = None) -> None:
        """Report the end of the attempt under way, unless the governor itself refused it."""
        if self.trace is not None and not self.trace.settled:
            told = _ended(self.key, self.trace, now, exit_code)
            self._report(self.trace, told.model_copy(update={"reason": self.end_reason()}))

    def report_gone(self, trace: Trace) -> None:
        """Report that the server of an attempt is gone, long after its end was asked for."""
        told = _ended(self.key, trace, Liveness.gone)
        self._report(trace, told.model_copy(update={"reason": self.end_reason()}))

    def report_start(self) -> None:
        """Report that the server of the attempt under way was started."""
        if self.trace is not None:
            place = self.trace.container
            report = Report(
                kind=ReportKind.started,
                key=self.key,
                liveness=Liveness.alive,
                process=self.trace.process,
                namespace=None if place is None else place.namespace,
                hub_started_at=self.began_at(),
            )
            self._report(self.trace, report)

    def began_at(self) -> datetime | None:
        """Say when the hub began this start; its database keeps instants without a zone."""
        began = getattr(self.orm_spawner, "started", None)
        if not isinstance(began, datetime):
            return None
        return began if began.tzinfo is not None else began.replace(tzinfo=UTC)

    def _report(self, trace: Trace, report: Report) -> None:
        try:
            self.client().report(trace.attempt_id, report)
        except UnreachableError as error:
            self.log.warning("Not reported: %s of %s: %s", report.kind, report.key, error)

    def get_state(self) -> dict[str, Any]:
        """State for the hub's database: the attempt, and a former server that may still live."""
        state: dict[str, Any] = super().get_state()
        traces = {
            name: trace.model_dump(mode="json")
            for name, trace in (("trace", self.trace), ("former", self.former))
            if trace is not None
        }
        return {**state, STATE_KEY: traces} if traces else state

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take the state back after a hub restart, or after the hub discarded a spawner."""
        super().load_state(state)
        traces = state.get(STATE_KEY)
        if isinstance(traces, Mapping):
            self.trace = read_trace(traces.get("trace"))
            self.former = read_trace(traces.get("former"))

    def clear_state(self) -> None:
        """Drop the attempt. A process that it made stays known until it is proved gone."""
        super().clear_state()
        if self.trace is not None and self.trace.process is not None:
            self.former = self.trace
        self.trace = None

    # -- the governor ---------------------------------------------------------------------

    def client(self) -> GovernorClient:
        """Return the process's client of the governor.

        Raises
        ------
        UnreachableError
            When address or token are missing.
        """
        try:
            token = Path(self.token_file).read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise UnreachableError(f"no token for the governor: {error}") from error
        if not self.governor_url or not token:
            raise UnreachableError("GovernedMixin.governor_url or token_file is not configured")
        return client_for(self.governor_url, token, self.ask_timeout)


def _ended(key: ServerKey, trace: Trace, now: Liveness, exit_code: int | None = None) -> Report:
    return Report(
        kind=ReportKind.ended,
        key=key,
        liveness=now,
        process=trace.process,
        exit_code=exit_code,
        asked=trace.asked,
        refused=not trace.launched,
    )
