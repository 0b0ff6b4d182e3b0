"""The policy in force: one value, a generation, and what is wrong with a newer file.

A wrong file never replaces a right one. Leases that already run keep what they were granted. Idle
rules in it are those that act; what the file declares beside them is on trial.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from ...errors import PolicyError
from ...i18n import _
from ...idle.trying import acting
from ...lease import GOVERNOR, Actor, Event, OpenLease, PolicyState
from ...ledger.store import Ledger, Tx
from ...policy.load import Loaded
from ...policy.model import Policy
from ...units import gpus_text
from ..basis.refusals import no_policy
from . import trialbook, trialrecord
from .difference import difference
from .relocated import relocated


class PolicyBook:
    """Holds the policy in force and records each change of it."""

    def __init__(self, ledger: Ledger, single: str | None = None) -> None:
        self._ledger = ledger
        self._single = single
        self._policy: Policy | None = None
        self.declared: Policy | None = None
        self.switched = trialrecord.read(ledger)
        self.trials = trialbook.read(ledger, self.switched)
        self.waiting: Loaded | None = None
        self.text: str | None = None
        self.state = PolicyState(generation=0, sha256="")

    @property
    def policy(self) -> Policy:
        """The policy in force, with the idle rules that act.

        Raises
        ------
        RefusedError
            While none was ever accepted.
        """
        if self._policy is None:
            raise no_policy()
        return self._policy

    @property
    def known(self) -> Policy | None:
        """The policy in force, or None where there is none; for pages and checks."""
        return self._policy

    def put(
        self, loaded: Loaded, *, now: datetime, actor: Actor = GOVERNOR, reason: str = ""
    ) -> int:
        """Bring a checked policy into force and return its generation.

        The same text as the newest generation is that generation: a restart is no change.

        Parameters
        ----------
        reason
            Why, in the words of whoever did it; the first line of the summary.
        """
        with self._ledger.transaction() as tx:
            newest = tx.generation()
            steps = trialrecord.steps(tx, self.switched, loaded.policy, actor=actor, now=now)
            if newest is not None and newest[1:] == (loaded.text, loaded.sha256):
                number = newest[0]
            else:
                old = newest[1] if newest else None
                said = (reason,) if reason else ()
                trials = tuple(str(one.body["words"]) for one in steps)
                number = self._add(tx, loaded, old, actor, (said, trials), now)
            for one in steps:
                tx.append(one)
        self.declared, self.text, self.waiting = loaded.policy, loaded.text, None
        self.take(steps)
        self.state = PolicyState(generation=number, sha256=loaded.sha256, applied_at=now)
        return number

    def trial_of(self, rule: str) -> timedelta:
        """How long a declared idle rule is tried."""
        declared = self.declared.idle.get(rule) if self.declared is not None else None
        return timedelta(0) if declared is None else declared.trial

    def take(self, steps: Iterable[Event]) -> None:
        """Take steps of idle rules into account that are on record; those act that it now says."""
        for one in steps:
            self.switched = trialrecord.applied(self.switched, one)
            self.trials.apply(one)
        switched = self.switched
        self._policy = None if self.declared is None else acting(self.declared, switched)

    def _add(
        self,
        tx: Tx,
        loaded: Loaded,
        old: str | None,
        actor: Actor,
        around: tuple[tuple[str, ...], tuple[str, ...]],
        now: datetime,
    ) -> int:
        """Add a generation; `around` is said in its summary before and after the difference."""
        lines = difference(old, loaded.text)
        leases = tx.leases()
        kept = (
            *grandfathered(loaded.policy, leases),
            *relocated(loaded.policy, leases, self._single),
        )
        before, after = around
        return tx.add_generation(
            text=loaded.text,
            sha256=loaded.sha256,
            summary="\n".join((*before, *lines, *after, *kept)),
            at=now,
            actor=actor,
        )

    def must_wait(self, loaded: Loaded) -> bool:
        """Whether a text comes into force only with an administrator's word."""
        known = self._policy
        return known is not None and known.apply == "accept" and loaded.text != self.text

    def wait(self, loaded: Loaded, *, now: datetime) -> None:
        """Let a checked text wait for an administrator's word, and record that once."""
        if self.waiting is not None and self.waiting.sha256 == loaded.sha256:
            return
        lines = difference(self.text, loaded.text)
        body: dict[str, object] = {"v": 1, "sha256": loaded.sha256, "changes": list(lines)}
        with self._ledger.transaction() as tx:
            tx.append(Event(kind="policy.waiting", at=now, body=body))
        self.waiting = loaded
        self.state = self.state.model_copy(
            update={
                "problem": (),
                "problem_at": None,
                "waiting": lines,
                "waiting_sha256": loaded.sha256,
                "waiting_at": now,
            }
        )

    def refuse(self, error: PolicyError, *, now: datetime, actor: Actor = GOVERNOR) -> None:
        """Keep the policy in force and record why a new text was not taken, once."""
        if error.findings == self.state.problem:
            return
        body: dict[str, object] = {"v": 1, "findings": list(error.findings)}
        with self._ledger.transaction() as tx:
            tx.append(Event(kind="policy.refused", at=now, actor=actor, body=body))
        self.waiting = None
        self.state = PolicyState(
            generation=self.state.generation,
            sha256=self.state.sha256,
            applied_at=self.state.applied_at,
            problem=error.findings,
            problem_at=now,
        )

    def newest_text(self) -> str | None:
        """Text of the newest generation in the ledger, for a start with a broken file."""
        with self._ledger.transaction() as tx:
            newest = tx.generation()
        return newest[1] if newest else None


def grandfathered(policy: Policy, leases: Iterable[OpenLease]) -> tuple[str, ...]:
    """Name by team and pool what present leases hold beyond the new limits; they stay."""
    held: dict[tuple[str, str], int] = {}
    for lease in leases:
        if lease.holding and lease.pool is not None:
            place = (lease.team, lease.pool)
            held[place] = held.get(place, 0) + lease.units
    lines = []
    for (team, pool), units in sorted(held.items()):
        most = _most(policy, team, pool)
        if most is not None and units > most:
            lines.append(
                _(
                    "team {team} holds {held} GPUs in pool {pool}, more than the {most} that it "
                    "may now have; present leases stay until they end"
                ).format(team=team, pool=pool, held=gpus_text(units), most=gpus_text(most))
            )
    return tuple(lines)


def _most(policy: Policy, team: str, pool: str) -> int | None:
    """Units that a team may have in a pool at most; None where only the pool limits it."""
    rules = policy.teams.get(team)
    quota = rules.quota.get(pool) if rules is not None else None
    if rules is None or quota is None:
        return 0
    if rules.over_quota != "borrow":
        return quota.nominal
    return None if quota.borrowing_limit is None else quota.nominal + quota.borrowing_limit
