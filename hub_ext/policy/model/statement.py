"""What the policy says about statements: whether anybody pays them, and to whom."""

from typing import Literal

from ..words import Flag, Part, Word


class Statement(Part):
    """What exported charges say of themselves."""

    kind: Literal["showback", "chargeback"] = "showback"
    """`showback`: amounts are shown, nobody pays them, and the column of billed cost is 0, as the
    FOCUS specification demands of whoever sends no invoice. `chargeback`: teams really pay what
    the statement says. Default `showback`."""
    billed_to: Word = "shared-gpus"
    """Id of the account that charges are billed to. Default `shared-gpus`."""
    billed_to_name: Word = "Shared GPUs"
    """Its name for people. Default "Shared GPUs"."""
    provider: Word = "GPU platform"
    """Who offers the service and issues the statement: what one party offers and another invoices
    must be billed at 0, says the specification. Default "GPU platform"."""
    host: Word | None = None
    """Who runs the machines; default the `provider`."""
    region: Word | None = None
    """Where the machines are, for example "paris-1"; absent where nobody needs to know."""
    members: Flag = True
    """Whether leads of a team see what each of its people held and spent. Where false their pages
    and reports tell projects and GPU models apart, and no people; what runs now keeps its owner,
    so that somebody can be asked. Administrators see all. Default true."""
