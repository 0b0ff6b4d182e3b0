"""What a server is started with, from a grant or, without a governor, from an offer last seen.

Pure: the one table from grant to environment variables is here.
"""

from pathlib import Path

from hub_ext.lease import (
    AttemptId,
    Device,
    Environment,
    Grant,
    LeaseId,
    Offer,
    PodTerms,
    Value,
)

from .process import ATTEMPT_VARIABLE

STATE_VARIABLE = "${GPU_COMMONS_STATE}"
"""Stands for the state directory in prefixes of the policy."""


class Terms(Value):
    """Everything a spawner applies. `lease_id` is None for a start without the governor."""

    attempt_id: AttemptId
    lease_id: LeaseId | None
    title: str
    devices: tuple[Device, ...]
    environment: Environment | None
    cpu_millis: int
    memory_bytes: int
    simulated: bool
    kube: PodTerms | None = None
    """What it is made of on Kubernetes."""


def granted(grant: Grant) -> Terms:
    """Terms of a grant."""
    return Terms(
        attempt_id=grant.attempt_id,
        lease_id=grant.lease_id,
        title=grant.title,
        devices=grant.devices,
        environment=grant.environment,
        cpu_millis=grant.cpu_millis,
        memory_bytes=grant.memory_bytes,
        simulated=grant.simulated,
        kube=grant.pod,
    )


def without_governor(attempt_id: AttemptId, offer: Offer, state: Path | None) -> Terms | None:
    """Terms of a profile without a GPU while the governor is away.

    None where its environment stands beside the policy file, whose place only the governor knows.
    """
    environment = offer.environment
    if environment is not None and environment.prefix is not None:
        prefix = environment.prefix.replace(STATE_VARIABLE, str(state or ""))
        if not Path(prefix).is_absolute():
            return None
        environment = environment.model_copy(update={"prefix": prefix})
    return Terms(
        attempt_id=attempt_id,
        lease_id=None,
        title=offer.title,
        devices=(),
        environment=environment,
        cpu_millis=offer.cpu_millis,
        memory_bytes=offer.memory_bytes,
        simulated=offer.simulated,
        kube=offer.kube,
    )


def variables(terms: Terms, state: Path | None) -> dict[str, str]:
    """Environment variables of a server. They win over whatever a site or a person sets.

    Without a device NVIDIA_VISIBLE_DEVICES is `void`, as an image that says `all` would otherwise
    show every GPU; CUDA is told the same in its own way, with an empty list.
    """
    ids = ",".join(device.driver_id for device in terms.devices)
    told = {
        "CUDA_VISIBLE_DEVICES": ids,
        "NVIDIA_VISIBLE_DEVICES": ids,
        ATTEMPT_VARIABLE: terms.attempt_id,
    }
    if not ids:
        told.update(NO_DEVICE)
    if terms.lease_id is not None:
        told["GPU_COMMONS_LEASE_ID"] = terms.lease_id
        if terms.simulated and state is not None:
            told["GPU_COMMONS_SIM_FILE"] = str(state / "sim" / f"{terms.lease_id}.json")
    return told


NO_DEVICE = {"CUDA_VISIBLE_DEVICES": "", "NVIDIA_VISIBLE_DEVICES": "void"}

OURS = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_COMMONS_")
"""Beginnings of names that only a grant sets, besides the API's address."""
