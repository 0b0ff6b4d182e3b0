"""One error tree for all packages.

GpuCommonsError
 |- UnitError           text that is no quota, duration, price or amount of memory
 |- PolicyError         a policy that cannot be used; carries every finding
 |- RefusedError        an answer to a person: code, words, figures, what to do next
 |- LedgerError         a record could not be made or read; nothing was granted
 |   `- FencedError     another governor has taken over; this one must exit
 |- UnpinnableError     an environment has no digest: missing, editable, broken or too slow
 |- IntruderError       a foreign package answers to one of our import names
 |- NotTakenError       a peer answered, and will never take what it was given
 `- UnreachableError    a peer (hub, governor) did not answer in time
"""

from collections.abc import Mapping


class GpuCommonsError(Exception):
    """Base of every error that this product raises on purpose."""


class UnitError(GpuCommonsError, ValueError):
    """Text that is no quota, duration, price or amount of memory."""


class PolicyError(GpuCommonsError):
    """A policy that cannot be used. `findings` are its lines, one fault each."""

    def __init__(self, findings: tuple[str, ...]) -> None:
        super().__init__("\n".join(findings))
        self.findings = findings


class RefusedError(GpuCommonsError):
    """An answer to a person that is not what they asked for.

    Parameters
    ----------
    code
        Stable kebab-case word, the last part of the problem's type ("over-guarantee").
    message
        What is, why, and what to do next; shown as it stands, so it holds no secret.
    figures
        The numbers behind the message, by name.
    status
        HTTP status below 500: the hub counts others towards its own exit.
    retry_after_s
        When asking again may help, in seconds; None where it never will.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        figures: Mapping[str, int | str] | None = None,
        status: int = 409,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.figures = dict(figures or {})
        self.status = status
        self.retry_after_s = retry_after_s


class LedgerError(GpuCommonsError):
    """A record could not be made or read; whatever depended on it did not happen."""


class FencedError(LedgerError):
    """Another governor holds the ledger now; this process must exit without another write."""


class UnpinnableError(GpuCommonsError):
    """An environment has no digest: it is missing, editable, broken or too slow to answer."""


class NotTakenError(GpuCommonsError):
    """A peer answered that it will never take what it was given; trying again is of no use."""


class IntruderError(GpuCommonsError):
    """A foreign package answers to one of our import names."""


class UnreachableError(GpuCommonsError):
    """A peer did not answer in time or answered nonsense; its state is unknown."""
