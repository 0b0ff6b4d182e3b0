"""What the agents found on the nodes, and which devices may be handed out because of it.

Held in memory: after a restart each agent is asked to tell again. A silent node has no usable
device, because nobody knows what is true there.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from ...i18n import _
from ...idle import STALE_PERIODS
from ...lease import AgentState, Device, DeviceId, Inventory, PoolName, SampleBatch, StrayProcess
from ...ledger.readings import AHEAD
from ...mig.geometry import declared_devices
from ...mig.placement import usable
from ...policy.model import Policy
from .agentclocks import clock_words

_Found = tuple[tuple[Device, ...], tuple[str, ...]]


class _Heard(NamedTuple):
    """Inventories of the nodes that are not silent, and when that is so."""

    since: datetime
    until: datetime
    inventories: tuple[Inventory, ...]


class Floor:
    """Newest inventory and batch of each node.

    Parameters
    ----------
    silence
        Time without a batch after which a node counts as silent.
    """

    def __init__(self, silence: timedelta) -> None:
        self._silence = silence
        self._inventories: dict[str, Inventory] = {}
        self._batches: dict[str, tuple[datetime, SampleBatch]] = {}
        self._heard: _Heard | None = None
        self._declared: tuple[Policy, tuple[Device, ...]] | None = None
        self._turns: tuple[tuple[Device, ...], bool] | None = None
        self._shares: tuple[tuple[Device, ...], dict[str, list[Device]]] | None = None
        self._cached: tuple[Policy, tuple[Inventory, ...], _Found] | None = None

    def take(self, batch: SampleBatch, *, now: datetime) -> bool:
        """Keep a batch; return whether the node's inventory is still wanted."""
        news = batch.inventory is not None or self._silent(batch.node, now)
        if batch.inventory is not None:
            self._inventories[batch.node] = batch.inventory
        self._batches[batch.node] = (now, batch)
        if news:
            # Else it tells what it told: at a large site looking at all of them costs more.
            self._heard = None
        return batch.node not in self._inventories

    def take_held(self, held: Iterable[DeviceId]) -> None:
        """Take what leases hold; where devices have ids of their own, that changes nothing."""

    def told_at(self, node: str) -> datetime | None:
        """When a node's newest batch came; None before the first."""
        known = self._batches.get(node)
        return known[0] if known else None

    def source(self, node: str) -> str:
        """Who measures on a node: nvml, simulated, or nothing so far."""
        known = self._batches.get(node)
        return known[1].source if known else ""

    def is_watched_at_home(self, node: str, *, now: datetime) -> bool:
        """Whether an agent on the machine itself reports; then what is heard elsewhere is late."""
        return self.source(node) in {"nvml", "simulated"} and not self._silent(node, now)

    def period_s(self, node: str) -> float | None:
        """Seconds between two batches of a node; None before the first."""
        known = self._batches.get(node)
        return known[1].period_s if known else None

    def slowest_s(self) -> float | None:
        """Longest period in seconds of any agent; None before the first batch."""
        return max((batch.period_s for _at, batch in self._batches.values()), default=None)

    def inventories(self, *, now: datetime) -> tuple[Inventory, ...]:
        """Newest inventory of each node that is not silent."""
        if self._heard is None or not self._heard.since <= now <= self._heard.until:
            self._heard = self._hear(now)
        return self._heard.inventories

    def _hear(self, now: datetime) -> "_Heard":
        """Look at each node, which is dear, and say until when the answer stays the same."""
        heard = {
            node: inventory
            for node, inventory in sorted(self._inventories.items())
            if not self._silent(node, now)
        }
        until = min((self._silent_after(node) for node in heard), default=now)
        return _Heard(now, until, tuple(heard.values()))

    def found(self, node: str) -> tuple[Device, ...]:
        """Devices of a node's newest inventory, and the time-shares of those that are shared."""
        inventory = self._inventories.get(node)
        if inventory is None:
            return ()
        matched = () if self._cached is None else self._cached[2][0]
        shares = (one for one in matched if one.shared_by is not None and one.node == node)
        return tuple({one.id: one for one in (*inventory.devices, *shares)}.values())

    def agents(self, *, now: datetime) -> tuple[AgentState, ...]:
        """How each agent that ever reported to this process stands."""
        return tuple(
            AgentState(
                node=node,
                source=batch.source,
                at=at,
                silent=self._silent(node, now),
                problem=self._problem(node),
            )
            for node, (at, batch) in sorted(self._batches.items())
        )

    def strays(self, *, now: datetime) -> tuple[tuple[str, StrayProcess], ...]:
        """Processes on devices without a lease for them, by machine; silent ones tell nothing."""
        return tuple(
            (node, one)
            for node, (_at, batch) in sorted(self._batches.items())
            if not self._silent(node, now)
            for one in batch.strays or ()
        )

    def devices(self, policy: Policy, *, now: datetime) -> _Found:
        """Devices that may be handed out, and a sentence for each that is declared but not found.

        Matching costs more than a decision, so it is done again only when something changed.
        """
        found = self.inventories(now=now)
        if self._cached is not None:
            last_policy, last_found, answer = self._cached
            if last_policy is policy and last_found == found:
                return answer
        answer = usable(self.declared(policy), found)
        self._cached = (policy, found, answer)
        return answer

    def declared(self, policy: Policy) -> tuple[Device, ...]:
        """All devices that the policy's pools should have; made once for each policy."""
        if self._declared is None or self._declared[0] is not policy:
            every = declared(policy)
            self._declared = (policy, every)
        return self._declared[1]

    def _any_shared(self, policy: Policy) -> bool:
        every = self.declared(policy)
        if self._turns is None or self._turns[0] is not every:
            self._turns = (every, any(one.shared_by is not None for one in every))
        return self._turns[1]

    def shares(self, node: str, policy: Policy, *, now: datetime) -> tuple[Device, ...]:
        """Time-shares on one machine that may be handed out."""
        if not self._any_shared(policy):
            return ()
        found = self.devices(policy, now=now)[0]
        if self._shares is None or self._shares[0] is not found:
            by_node: dict[str, list[Device]] = {}
            for one in found:
                if one.shared_by is not None:
                    by_node.setdefault(one.node, []).append(one)
            self._shares = (found, by_node)
        return tuple(self._shares[1].get(node, ()))

    def _silent(self, node: str, now: datetime) -> bool:
        if node not in self._batches:
            return True
        return now > self._silent_after(node)

    def _silent_after(self, node: str) -> datetime:
        at, batch = self._batches[node]
        # A slow agent is not silent: two missed batches in a row are.
        return at + max(self._silence, timedelta(seconds=2.5 * batch.period_s))

    def _problem(self, node: str) -> str:
        inventory = self._inventories.get(node)
        found = inventory.problem if inventory else ""
        at, batch = self._batches[node]
        told = (found, _clock_words(at, batch), _refused_words(batch))
        return "; ".join(words for words in told if words)


def _clock_words(at: datetime, batch: SampleBatch) -> str:
    """Say that an agent's clock is wrong, by what it measured, else by how its batch came."""
    if batch.clock is not None:
        return clock_words(batch.clock)
    ahead = batch.sent_at - at
    if ahead > AHEAD:
        words = _("its clock is {n} s ahead, so its readings are left out; set that clock")
    elif -ahead > max(AHEAD, STALE_PERIODS * timedelta(seconds=batch.period_s)):
        words = _("its clock is {n} s behind, so its readings count as old; set that clock")
    else:
        return ""
    return words.format(n=int(abs(ahead).total_seconds()))


def _refused_words(batch: SampleBatch) -> str:
    """Say that batches of an agent were no good, as those of another version are."""
    if not batch.refused:
        return ""
    words = _(
        "{n} of its batches were refused for good in the last hour and set aside; its log says "
        "why, and it may be of another version"
    )
    return words.format(n=batch.refused)


def declared(policy: Policy) -> tuple[Device, ...]:
    """All devices that the policy's pools should have."""
    return tuple(
        device
        for name, pool in policy.pools.items()
        for device in declared_devices(PoolName(name), pool)
    )
