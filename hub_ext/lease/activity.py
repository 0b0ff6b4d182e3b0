"""What a server says of itself: user-side evidence, which its owner could forge.

It may hold a stop off within a budget; it never brings one about.
"""

from datetime import datetime, timedelta
from typing import Annotated, Self

from pydantic import AwareDatetime, Field, model_validator

from .words import Value

Count = Annotated[int, Field(ge=0, le=10_000, strict=True)]

LONGEST_CELL_S = 366 * 86400
"""A cell that says it took longer is no cell."""

_INSTANTS = ("busy_since", "cell_ended_at", "output_at", "input_at", "out_of_memory_at")


class Activity(Value):
    """`POST servers/{user}/{server}/activity`: kernels, terminals and the last real input.

    Instants are of the server's clock, as is `at`; the governor keeps its own time of receipt.
    """

    at: AwareDatetime
    kernels: Count
    kernels_busy: Count
    busy_since: AwareDatetime | None = None
    """Since when the kernel that is busy longest has been so; None where none is."""
    cell_ended_at: AwareDatetime | None = None
    """When a kernel last became idle."""
    cell_s: Annotated[int, Field(ge=0, le=LONGEST_CELL_S, strict=True)] | None = None
    """How long the cell took that ended then."""
    output_at: AwareDatetime | None = None
    """When a kernel or terminal last said something."""
    terminals: Count = 0
    input_at: AwareDatetime | None = None
    """Last key, pointer or cell run by a person in a tab that was visible."""
    out_of_memory_at: AwareDatetime | None = None
    """When the output of a kernel last told that the GPU's memory was full."""

    @model_validator(mode="after")
    def _counts_agree(self) -> Self:
        if self.kernels_busy > self.kernels:
            raise ValueError("more kernels are busy than there are")
        return self

    def heard(self, received: datetime) -> Self:
        """Put it on the clock of who received it; nothing in it lies in the future then.

        The server's clock may be wrong, and whoever holds its token could set instants ahead:
        what counts is how long before `at` something was.

        Parameters
        ----------
        received
            When it came, by the clock of who hears it.
        """
        put: dict[str, datetime] = {"at": received}
        for name in _INSTANTS:
            instant: datetime | None = getattr(self, name)
            if instant is not None:
                age = max(timedelta(0), self.at - instant)
                put[name] = received - min(age, timedelta(seconds=LONGEST_CELL_S))
        return self.model_copy(update=put)
