"""Pools: GPUs of one model, how they are cut, and what who borrows there may count on."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag

from ..words import Count, Flag, Gpus, Lasting, Name, Part, Replicas, Span, Word
from .images import Release
from .kube import ObjectName, Rdma, SharedResource, Taint


def _for_tag(value: object) -> str | None:
    match value:
        case "shared":
            return "<shared>"
        case dict() | PoolFor():
            return "<reserved>"
        case _:
            return None


def _cut_tag(value: object) -> str | None:
    match value:
        case "whole":
            return "<whole>"
        case list() | tuple():
            return "<cut>"
        case {"share": _} | SharedGpu():
            return "<share>"
        case _:
            return None


class SharedGpu(Part):
    """A GPU that several leases have in turns; nothing keeps their memory apart."""

    share: Replicas
    """How many leases may have it at once, all of one team: 2 to 8, 10 or 12."""


class Node(Part):
    """A machine of a pool and how its GPUs are cut."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=253)]
    """Host name as the agent reports it; `localhost` is the machine the hub runs on."""
    gpus: Annotated[Count, Field(le=64)]
    """How many GPUs of this pool the machine has."""
    geometry: tuple[
        Annotated[
            Annotated[Literal["whole"], Tag("<whole>")]
            | Annotated[tuple[Word, ...], Tag("<cut>")]
            | Annotated[SharedGpu, Tag("<share>")],
            Discriminator(
                _cut_tag,
                custom_error_type="cut",
                custom_error_message="this is no cut; "
                "write `whole`, a list of MIG profiles or `{share: 4}`",
            ),
        ],
        ...,
    ] = ()
    """For each GPU `whole`, the MIG profiles it is cut into, or `{share: 4}`; empty: all whole."""


class PoolFor(Part):
    """The one team that a reserved pool serves."""

    team: Name
    """Name of the team; nobody else is offered the pool's profiles."""


class Reservable(Part):
    """What may be reserved of a pool; a reservation always lies inside its team's own quota."""

    by: Literal["leads", "everyone"] = "leads"
    """Who may reserve for a team: its leads, or every member. Default `leads`. Administrators may
    always."""
    most: Gpus
    """Most GPUs of the pool that all reservations together take at the same time."""
    longest: Lasting = timedelta(hours=24)
    """Longest time of one reservation. Default 24h."""
    ahead: Lasting = timedelta(days=28)
    """How far ahead the last time of a reservation may begin. Default 28d."""
    no_show: Lasting = timedelta(minutes=15)
    """How long GPUs are kept for somebody who does not come; then others get them. Default 15m."""
    unused_percent: Annotated[int, Field(strict=True, ge=0, le=100)] = 100
    """Part of the price that is charged while GPUs are kept and no server uses them. Default 100:
    whoever keeps GPUs from others pays as if they were used."""


class Pool(Part):
    """GPUs of one model that are interchangeable."""

    model: Name
    """Model of every GPU in the pool, as in the MIG geometry table, or any other name."""
    for_: Annotated[
        Annotated[Literal["shared"], Tag("<shared>")] | Annotated[PoolFor, Tag("<reserved>")],
        Discriminator(
            _for_tag,
            custom_error_type="for",
            custom_error_message="this says nobody; write `shared` or `{team: T}`",
        ),
    ] = Field("shared", alias="for")
    """`shared`, or `{team: T}` for one team alone."""
    nodes: Annotated[tuple[Node, ...], Field(min_length=1)]
    """The machines and their cuts; their sum is the declared capacity."""
    selector: dict[str, str] = {}
    """Node labels that select these machines on Kubernetes; empty: machines that carry the label
    `gpu-commons.dev/pool` with the name of the pool."""
    tolerations: tuple[Taint, ...] = ()
    """Taints of these machines on Kubernetes, which keep everybody else's servers off them."""
    runtime_class: ObjectName | None = None
    """RuntimeClass with which servers get their GPU on Kubernetes, for example `nvidia`; absent
    means the cluster's default."""
    shared_resource: SharedResource | None = None
    """Under which name Kubernetes counts the time-shares of this pool; the device plugin's
    `renameByDefault` decides it. Absent means `nvidia.com/gpu.shared`."""
    vgpu: Word | None = None
    """These are virtual GPUs of one machine each, and this is their profile as the hypervisor calls
    it, for example `H100-20C`. Each server gets one. What they cannot tell, such as utilisation on
    some, stays unknown. Absent means that they are real."""
    rdma: Rdma | None = None
    """The RDMA fabric that these machines are on, for projects whose network names it; absent
    means that they are on none."""
    driver: Release | None = None
    """Release of the NVIDIA driver on these machines, for example "550.54.15": an image whose CUDA
    needs a newer one is refused. Absent means that it is not compared."""
    toolkit: Release | None = None
    """Release of the NVIDIA Container Toolkit on these machines, for example "1.18.0"; compared
    with what projects need."""
    reclaim: Flag = True
    """Whether a team that needs its guarantee may call in what others borrow of it. Default true:
    a guarantee that cannot be called in has no bound."""
    min_runtime: Span = timedelta(minutes=30)
    """For so long after its start a borrowed lease is not called in. Default 30m: less is too
    short to get anything done."""
    notice: Span = timedelta(minutes=15)
    """From the announcement that a borrowed lease is called in to its stop. Default 15m: time to
    save and to look up."""
    starve_after: Lasting | None = None
    """A request that has waited longer lets nobody younger pass in this pool until it has started;
    absent means that small requests may pass a large one for ever."""
    normal_lifetime: Lasting | None = None
    """Longest life of leases in this pool, but for task types that are `long_running`. Together
    with `starve_after` it bounds how long a large request waits."""
    reservable: Reservable | None = None
    """What may be reserved for a time to come; absent means nothing."""
    exclusive: tuple[Literal["gpu", "node"], ...] = ()
    """What a project may ask to have alone: a whole `gpu`, a whole `node`; empty means nothing."""
