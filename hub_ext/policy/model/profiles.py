"""Profiles and prices: what people choose from, and what it costs."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from ...lease import share_name
from ..words import (
    Count,
    Day,
    FlavorKind,
    Lasting,
    Memory,
    Name,
    Part,
    Price,
    Replicas,
    Title,
    Word,
)


def _flavor_tag(value: object) -> str | None:
    match value:
        case {"gpus": _} | GpuFlavor():
            return "<gpus>"
        case {"mig": _} | MigFlavor():
            return "<mig>"
        case {"share": _} | ShareFlavor():
            return "<share>"
        case "none":
            return "<none>"
        case _:
            return None


class GpuFlavor(Part):
    """Whole GPUs."""

    gpus: Annotated[Count, Field(le=64)]
    """How many whole GPUs one server gets, all on one machine."""


class MigFlavor(Part):
    """One MIG device."""

    mig: Word
    """MIG profile in NVIDIA's words, for example `1g.18gb`."""


class ShareFlavor(Part):
    """One time-share of a GPU."""

    share: Replicas
    """How many leases of the team may have the GPU at once; the pool must share one so."""


Flavor = GpuFlavor | MigFlavor | ShareFlavor | Literal["none"]


class Lifetime(Part):
    """How long a lease may live."""

    default: Lasting
    """When the person names none."""
    longest: Lasting
    """The most a person may ask for, extensions included."""

    @model_validator(mode="after")
    def _ordered(self) -> "Lifetime":
        if self.default > self.longest:
            raise ValueError("`default` is longer than `longest`; shorten it or raise `longest`")
        return self


class Profile(Part):
    """An entry that people can choose."""

    title: Title
    """Shown on the form."""
    description: Annotated[str, StringConstraints(max_length=500)] = ""
    """One or two sentences for whoever chooses."""
    pool: Name | None = None
    """Where its GPUs come from; absent only with `flavor: none`."""
    flavor: Annotated[
        Annotated[GpuFlavor, Tag("<gpus>")]
        | Annotated[MigFlavor, Tag("<mig>")]
        | Annotated[ShareFlavor, Tag("<share>")]
        | Annotated[Literal["none"], Tag("<none>")],
        Discriminator(
            _flavor_tag,
            custom_error_type="flavor",
            custom_error_message="this is no flavor; "
            "write `{gpus: 1}`, `{mig: 1g.18gb}`, `{share: 4}` or `none`",
        ),
    ]
    """`{gpus: 1}`, `{mig: 1g.18gb}`, `{share: 4}`, or `none` for a server without a GPU."""
    cpu: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}(\.[0-9]{1,3})?$")]
    """CPU cores, for example "4" or "0.5"."""
    memory: Memory
    """Main memory, for example `16GiB`."""
    scratch: Memory | None = None
    """On Kubernetes, most local disk that a server may fill, `/scratch` included, before it is
    evicted; absent means 10GiB. It is a limit and keeps no disk free."""
    lifetime: Lifetime
    """Default and longest life of a lease."""
    teams: tuple[Name, ...] | None = None
    """Teams that may choose it; absent means every team with quota in the pool."""
    task_type: Name | None = None
    """Task type where the person names none and may choose it; absent means unlabelled."""

    @model_validator(mode="after")
    def _pool_with_gpu(self) -> "Profile":
        if (self.pool is None) != (self.flavor == "none"):
            raise ValueError(
                "a profile has either a pool and GPUs, or neither; "
                "give both `pool` and GPUs, or write `flavor: none` alone"
            )
        return self


class PriceEntry(Part):
    """A price from a date on, until the next entry of the same pool and flavor."""

    pool: Name
    """The pool it is for."""
    flavor: Annotated[str, StringConstraints(min_length=1)] = "gpu"
    """`gpu` for a whole GPU (n cost n times as much), a MIG profile, or `share-4`."""
    from_: Day = Field(alias="from")
    """First day, in the policy's time zone."""
    until: Day | None = None
    """First day on which it no longer holds; absent means until the next entry."""
    per_hour: Price
    """Price of one hour in the policy's currency, for example "4.20"."""
    borrowed: Price | None = None
    """Price of one hour of what a team borrows from others' guarantees. Absent: `per_hour`."""
    reserved_unused: Price | None = None
    """Price of one hour in which it is kept for a reservation and no server uses it. Absent: the
    part of `per_hour` that the pool's `reservable.unused_percent` says."""


def flavor_kind(flavor: Flavor) -> FlavorKind:
    """Name the kind of a flavor, as idle rules do."""
    match flavor:
        case GpuFlavor():
            return "gpu"
        case MigFlavor():
            return "mig"
        case ShareFlavor():
            return "share"
        case "none":
            return "none"


def flavor_name(flavor: Flavor) -> str:
    """Name a flavor in one word for ledgers and labels: `gpu-2`, `1g.18gb`, `share-4`, `none`."""
    match flavor:
        case GpuFlavor(gpus=count):
            return f"gpu-{count}"
        case MigFlavor(mig=profile):
            return profile
        case ShareFlavor(share=count):
            return share_name(count)
        case "none":
            return "none"


def cpu_millis(profile: Profile) -> int:
    """CPU of a profile in thousandths of a core."""
    whole, _, part = profile.cpu.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])
