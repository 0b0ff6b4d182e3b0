"""The policy file as frozen values. A field that does not act yet does not exist here.

Text in the file (GPUs, money, durations, memory) becomes integers and `timedelta` while loading.
Its parts are in modules beside this one, and are imported from here; findings that need more than
one field are in `policy.checks`.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ..words import FlavorKind, Name, Part, Version, Zone
from .anomalies import Anomalies
from .budgets import Budget, Term
from .device import DevicePin
from .idle import IdleRule, IdleStops
from .images import Contents, ImageRules
from .needs import Needs
from .notices import OutwardNotice
from .pools import Node, Pool, PoolFor, Reservable
from .priority import PriorityRules
from .profiles import (
    Flavor,
    GpuFlavor,
    Lifetime,
    MigFlavor,
    PriceEntry,
    Profile,
    ShareFlavor,
    cpu_millis,
    flavor_kind,
    flavor_name,
)
from .starts import StartRules
from .starving import StarvingRules
from .statement import Statement
from .tasks import TaskType
from .teams import EnvironmentPin, Project, Quota, Team
from .times import Mode, Modes, NoticeTimes
from .value import ValueRules

__all__ = [
    "Anomalies",
    "Budget",
    "Contents",
    "DevicePin",
    "EnvironmentPin",
    "Flavor",
    "FlavorKind",
    "GpuFlavor",
    "IdleRule",
    "IdleStops",
    "ImageRules",
    "Lifetime",
    "MigFlavor",
    "Mode",
    "Modes",
    "Needs",
    "Node",
    "NoticeTimes",
    "OutwardNotice",
    "Policy",
    "Pool",
    "PoolFor",
    "PriceEntry",
    "PriorityRules",
    "Profile",
    "Project",
    "Quota",
    "Reservable",
    "ShareFlavor",
    "StartRules",
    "StarvingRules",
    "Statement",
    "TaskType",
    "Team",
    "Term",
    "ValueRules",
    "cpu_millis",
    "flavor_kind",
    "flavor_name",
]


class Policy(Part):
    """The whole file."""

    version: Version
    """Version of the format; grows additively."""
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]{2,9}$")]
    """Code of the currency of all prices, for example `EUR`."""
    timezone: Zone = "UTC"
    """Time zone of price dates and of months, for example `Europe/Paris`."""
    modes: Modes = Modes()
    """Whether quota, idleness and budgets are observed, advised or enforced."""
    apply: Literal["auto", "accept"] = "auto"
    """What becomes of a changed file: `auto`, it comes into force as soon as it is found right;
    `accept`, it waits until an administrator confirms it on the admin page or with
    `gpu-commons policy accept`. The policy in force says which. Default `auto`: a hub that starts
    shall not wait for anybody."""
    pools: dict[Name, Pool]
    """GPUs, by name of the pool."""
    teams: Annotated[dict[Name, Team], Field(min_length=1)]
    """Quota holders, by name."""
    projects: dict[Name, Project] = {}
    """What charges belong to, by name."""
    images: ImageRules = ImageRules()
    """Which images projects may pin."""
    profiles: Annotated[dict[Name, Profile], Field(min_length=1)]
    """What people choose from, by name, in the order of the form."""
    task_types: dict[Name, TaskType] = {}
    """What servers are for, by name, in the order of the form; none means that nobody is asked."""
    priority: PriorityRules = PriorityRules()
    """What waiting and recent use add to a task type's weight, and take off it."""
    prices: tuple[PriceEntry, ...] = ()
    """Dated prices. What has none is shown as "not priced"."""
    budgets: dict[Name, Budget] = {}
    """Money that teams, projects and people may spend, by name."""
    value: ValueRules = ValueRules()
    """What spend is held against, and who has to say what a lease is for."""
    statement: Statement = Statement()
    """Whether charges are shown or paid, and what exports call those who take part."""
    idle: dict[Name, IdleRule] = {}
    """Idle rules by name; for one server at most one."""
    idle_stops: IdleStops = IdleStops()
    """How many servers are stopped as idle at once, and when none is."""
    notice: NoticeTimes = NoticeTimes()
    """Announcement times that no idle rule sets."""
    notices: dict[Name, OutwardNotice] = {}
    """Ways out for notices beyond JupyterLab and the hub's pages, by name."""
    starts: StartRules = StartRules()
    """How repeated starts that fail are slowed down, for whose they are."""
    anomalies: Anomalies = Anomalies()
    """From when on something odd is told to leads and admins."""
    starving: StarvingRules = StarvingRules()
    """From when on a GPU counts as kept waiting by the CPU, storage, network or PCIe."""
