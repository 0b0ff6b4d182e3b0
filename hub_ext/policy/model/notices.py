"""Who is told beyond JupyterLab and the hub's pages: addresses that are posted to, and mail."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from ...lease.outward import OutwardKind
from ..words import Name, Part

Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s@]{1,400}$")]
Recipient = (
    Literal["owner", "leads"]
    | Annotated[str, StringConstraints(pattern=r"^[^\s@<>,;\"]{1,64}@[A-Za-z0-9.-]{1,253}$")]
)


class OutwardNotice(Part):
    """One way out for notices: a web address, or people by mail."""

    kinds: Annotated[tuple[OutwardKind, ...], Field(min_length=1)]
    """What goes out by it: `idle`, stops of idle servers, and advice on them; `recall`, borrowed
    GPUs that are called in; `lifetime`, ends of lifetimes; `maintenance`, devices that go out of
    service, and stops by administrators; `budget`, thresholds that are reached, and stops for a
    spent budget; `anomaly`, what is odd."""
    teams: tuple[Name, ...] = ()
    """Only what concerns these teams; empty is all, and what concerns none."""
    webhook: Address | None = None
    """Address that a signed JSON document is posted to. It has to begin with one of the addresses
    that the governor's setting `notice_urls` allows. Give this or `mail`."""
    mail: tuple[Recipient, ...] = ()
    """Who gets a mail: `owner`, whose server or money it is; `leads`, the leads of the team; or
    addresses. People's addresses follow from the governor's setting `notice_people`."""

    @model_validator(mode="after")
    def _one_way(self) -> "OutwardNotice":
        if (self.webhook is None) == (not self.mail):
            raise ValueError("a notice goes one way; give either `webhook` or `mail`")
        return self
