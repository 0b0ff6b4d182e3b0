"""A server whose budget is spent is to stop: when, and in which words for its owner."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...i18n import _
from ...lease import Reason

BUDGET_SPENT = "budget-spent"
"""Code of a notice that a server stops because its budget is spent."""

GIVEN_MORE = Reason(
    code="budget-anew",
    message=_("The server is not stopped: its budget began anew, or was given more."),
)


@dataclass(frozen=True)
class SpentClosure:
    """Until when it may run, and the sentences on its budget."""

    ends_at: datetime
    least: timedelta
    words: str
    figures: dict[str, int | str]

    @property
    def announced(self) -> Reason:
        """Words for before the stop."""
        return Reason(
            code=BUDGET_SPENT,
            message=_(
                "{words} So servers with GPUs that it pays for are stopped. Save your work."
            ).format(words=self.words),
            figures=self.figures,
        )

    @property
    def ended(self) -> Reason:
        """Words for after it."""
        return Reason(
            code=BUDGET_SPENT,
            message=_(
                "The server was stopped because its budget is spent. {words} Servers without a "
                "GPU start as ever; ask a lead or an administrator if it is urgent."
            ).format(words=self.words),
            figures=self.figures,
        )
