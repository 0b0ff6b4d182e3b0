"""What a spawner remembers of one attempt, so that it can report it even after a hub restart."""

import logging
import secrets
from collections.abc import Mapping

from pydantic import ValidationError

from hub_ext.lease import AttemptId, LeaseId, ProcessRef, Value

_LOG = logging.getLogger("gpu-commons.spawner")


class Container(Value):
    """Where a server stands on Kubernetes: the pod's namespace and name, known before it is."""

    namespace: str
    name: str

    @property
    def key(self) -> str:
        """Namespace and name in one, as logs show them."""
        return f"{self.namespace}/{self.name}"


class Trace(Value):
    """One attempt. Kept in the hub's spawner state; never taken from a person's options."""

    attempt_id: AttemptId
    lease_id: LeaseId | None = None
    process: ProcessRef | None = None
    container: Container | None = None
    launched: bool = False
    """The program was started, or that was tried."""
    asked: bool = False
    """The hub called `stop()`."""
    settled: bool = False
    """The governor itself refused it: there is nothing to report."""


def new_trace() -> Trace:
    """Begin an attempt under an id that nobody can guess."""
    return Trace(attempt_id=AttemptId(secrets.token_urlsafe(24)))


def read_trace(state: object) -> Trace | None:
    """Read a trace back from hub state; None, with a warning, where it is damaged."""
    if not isinstance(state, Mapping):
        return None
    try:
        return Trace.model_validate(dict(state))
    except ValidationError as error:
        _LOG.warning("Damaged state of an attempt was dropped: %s", error)
        return None
