"""What the policy says about Kubernetes: where servers may stand there, and what they can reach.

It acts where servers are pods; `checks_kube` refuses it where none of it could ever act.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema, model_validator

from ..words import Memory, Part

_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_LONGEST_NAME = 253


def _namespace(text: str) -> str:
    if not _DNS_LABEL.fullmatch(text):
        raise ValueError(
            f"{text[:80]!r} is no namespace; use small letters, digits and hyphens, at most 63, "
            "a letter or digit outside"
        )
    return text


def _object(text: str) -> str:
    if len(text) > _LONGEST_NAME or not _DNS_NAME.fullmatch(text):
        raise ValueError(
            f"{text[:80]!r} is no name on Kubernetes; use small letters, digits, hyphens and dots, "
            "a letter or digit on both sides of each dot"
        )
    return text


Namespace = Annotated[str, AfterValidator(_namespace)]
ObjectName = Annotated[str, AfterValidator(_object)]
SharedResource = Literal["nvidia.com/gpu.shared", "nvidia.com/gpu"]
Key = Annotated[str, StringConstraints(min_length=1, max_length=317)]


class Taint(Part):
    """A taint of a pool's machines that its servers tolerate, in Kubernetes' words."""

    key: Key
    """Key of the taint, for example `nvidia.com/gpu`."""
    operator: Literal["Exists", "Equal"] = "Exists"
    """`Exists` tolerates every value of the key, `Equal` the one below. Default `Exists`."""
    value: Annotated[str, StringConstraints(max_length=63)] | None = None
    """The value that `Equal` compares."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Which effect of the taint is tolerated; absent means every one."""

    @model_validator(mode="after")
    def _value_with_equal(self) -> Self:
        if (self.operator == "Equal") != (self.value is not None):
            raise ValueError(
                "`Equal` compares a value and `Exists` has none; "
                "give `operator: Equal` and `value`, or neither"
            )
        return self


DeviceResource = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
    ),
    WithJsonSchema({"type": "string", "examples": ["rdma/hca_shared_devices_a"]}),
]


class Rdma(Part):
    """How servers of a pool get a device of its RDMA fabric on Kubernetes."""

    resource: DeviceResource
    """Name by which the fabric's device plugin counts its devices, for example
    `rdma/hca_shared_devices_a`. One of them goes to each server."""
    selector: dict[str, str] = {}
    """Labels of the machines that are on the fabric, beside the pool's own."""
    tolerations: tuple[Taint, ...] = ()
    """Taints of these machines, beside the pool's own."""


class Volume(Part):
    """The volume that a project's servers work on. It outlives them all and is never deleted."""

    size: Memory
    """How large a claim is made, for example `200GiB`."""
    class_: ObjectName | None = Field(None, alias="class")
    """Storage class; absent means the cluster's default."""
    access: Literal["ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"] = "ReadWriteMany"
    """`ReadWriteMany`: all servers of the project share one volume, on any machine. `ReadWriteOnce`
    or `ReadWriteOncePod`: each server has one of its own, as no two machines could mount it.
    Default `ReadWriteMany`."""
