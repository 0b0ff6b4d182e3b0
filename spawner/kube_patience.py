"""How long a starting pod may take in each phase, and how long a trouble is borne. Pure."""

from typing import NamedTuple

from .kube_trouble import Trouble, Urgency, too_long


class Limits(NamedTuple):
    """Seconds that each phase may take, that a trouble is borne, and for the whole start."""

    scheduling: float
    pulling: float
    starting: float
    scaling: float
    """Instead of `scheduling`, where the cluster has begun to start another machine."""
    trouble: float
    whole: float


class Patience:
    """Judges a start from one look to the next.

    Parameters
    ----------
    limits
        How long things may take.
    began_s
        When the start began, on a clock that only runs forward.
    """

    def __init__(self, limits: Limits, began_s: float) -> None:
        self.limits = limits
        self.began_s = began_s
        self._phase, self._phase_since = "scheduling", began_s
        self._code, self._code_since = "", began_s

    def judge(
        self, phase: str, trouble: Trouble | None, now_s: float, *, scaling: bool = False
    ) -> Trouble | None:
        """Say for what the start is to be given up now; None while it may go on.

        Parameters
        ----------
        phase
            Where the pod stands: scheduling, pulling or starting.
        trouble
            What is wrong with it now.
        now_s
            On the clock of `began_s`.
        scaling
            Whether the cluster starts another machine for it.
        """
        if phase != self._phase:
            self._phase, self._phase_since = phase, now_s
        code = "" if trouble is None else trouble.code
        if code != self._code:
            self._code, self._code_since = code, now_s
        if trouble is not None and self._borne_enough(trouble, now_s):
            return trouble
        if self._too_long(scaling=scaling, now_s=now_s):
            return trouble or too_long(phase, int(now_s - self._phase_since))
        return None

    def _borne_enough(self, trouble: Trouble, now_s: float) -> bool:
        if trouble.urgency is Urgency.end:
            return True
        borne = now_s - self._code_since
        return trouble.urgency is Urgency.soon and borne >= self.limits.trouble

    def _too_long(self, *, scaling: bool, now_s: float) -> bool:
        limit = {
            "scheduling": self.limits.scaling if scaling else self.limits.scheduling,
            "pulling": self.limits.pulling,
        }.get(self._phase, self.limits.starting)
        return now_s - self._phase_since >= limit or now_s - self.began_s >= self.limits.whole
