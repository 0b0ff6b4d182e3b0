"""From when on a GPU counts as kept waiting, and by what."""

from typing import Annotated

from pydantic import Field

from ..words import Count, Part

Percent = Annotated[Count, Field(le=100)]


class StarvingRules(Part):
    """From when on a GPU counts as kept waiting, and a resource as its bottleneck."""

    gpu_percent: Percent = 70
    """GPU utilisation above which it waits for nothing. Default 70: figures are of the share of
    time in which anything ran."""
    cpu_percent: Percent = 90
    """Share of the server's CPUs that is in use. Default 90."""
    stalled_percent: Percent = 20
    """Share of time in which some process waited for a CPU or a disk. Default 20."""
    storage_mib_s: Count = 100
    """MiB a second of storage, where nobody measures how long processes wait for it. Default 100:
    what one network drive gives."""
    network_mib_s: Count = 80
    """MiB a second of network. Default 80: a full link of 1 Gbit/s is 110."""
    pcie_mib_s: Count = 10_000
    """MiB a second between machine and GPU. Default 10000: a full PCIe 4 x16 is 25000 each way, and
    copies and computing take turns."""
    memory_percent: Percent = 95
    """Share of the GPU's memory from which it is nearly full. Default 95."""
