"""GPUs that belong to one project alone: its servers get these, and nobody else ever does."""

from pydantic import model_validator

from ..words import Count, Name, Part, Word


class DevicePin(Part):
    """Devices of one kind that are kept for a project; its GPU servers get nothing else."""

    pool: Name
    """Where they are."""
    mig: Word | None = None
    """MIG profile of each, in NVIDIA's words; give this or `gpus`."""
    gpus: Count | None = None
    """Whole GPUs of each server."""
    count: Count = 1
    """How many servers of the project find such devices at once. Default 1. On one machine they are
    the same GPU and the same MIG placement at each start, until the GPUs are cut anew."""

    @model_validator(mode="after")
    def _one_kind(self) -> "DevicePin":
        if (self.mig is None) == (self.gpus is None):
            raise ValueError("this is no kind of device; give either `mig` or `gpus`")
        return self

    @property
    def flavor(self) -> str:
        """Name of the flavor that its servers take."""
        return self.mig if self.mig is not None else f"gpu-{self.gpus}"

    @property
    def devices(self) -> int:
        """How many devices are kept."""
        return self.count * (self.gpus or 1)
