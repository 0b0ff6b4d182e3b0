"""What a server says of itself: user-side evidence, which its owner could forge.

It may hold a stop off within a budget; it never brings one about.
"""

from typing import Annotated

from pydantic import AwareDatetime, Field

from .words import Value

Count = Annotated[int, Field(ge=0, le=10_000)]


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
    cell_s: Annotated[int, Field(ge=0)] | None = None
    """How long the cell took that ended then."""
    output_at: AwareDatetime | None = None
    """When a kernel or terminal last said something."""
    terminals: Count = 0
    input_at: AwareDatetime | None = None
    """Last key, pointer or cell run by a person in a tab that was visible."""
    out_of_memory_at: AwareDatetime | None = None
    """When the output of a kernel last told that the GPU's memory was full."""
