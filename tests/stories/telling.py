"""Tells one story: each step does one thing to a pool or says what must hold then.

A story has `teams` with their quota of the pool `whole`, so many GPUs of it (`gpus`, on two
machines), and `steps`. What a step may say is one method each.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hub_ext.admission.calling import plan
from hub_ext.admission.decide import Admitted, Queued, standing_of
from hub_ext.admission.order import promotions
from hub_ext.admission.queue import line
from hub_ext.lease import CalledIn, LeaseState, OpenLease, Standing
from hub_ext.policy.model import Policy
from hub_ext.units import parse_duration
from tests.support.pools import Commons, make_policy, team

Step = Mapping[str, Any]


class Story:
    """A pool, its teams, and what has happened so far."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told
        teams = {name: dict(rules) for name, rules in told["teams"].items()}
        self.pool = Commons(self._policy(teams))
        self._teams = teams

    def _policy(self, teams: Mapping[str, Mapping[str, Any]]) -> Policy:
        made = {
            name: team(
                {"whole": {key: rules[key] for key in rules if key in _QUOTA}},
                name=name,
                over=rules.get("over_quota", "borrow"),
            )
            for name, rules in teams.items()
        }
        more = {key: self._told[key] for key in ("projects", "task_types") if key in self._told}
        policy = make_policy(made, whole=self._told["gpus"], **more)
        rules = policy.pools["whole"].model_copy(update=self._told.get("pool", {}))
        return policy.model_copy(update={"pools": {**policy.pools, "whole": rules}})

    def tell(self) -> None:
        """Go through all steps; the first that is not as told fails, with its number."""
        for number, step in enumerate(self._told["steps"], start=1):
            verb = next(iter(step))
            try:
                getattr(self, f"step_{verb}")(step[verb], step)
            except AssertionError as error:
                raise AssertionError(f"step {number}, {dict(step)}: {error}") from error

    def step_asks(self, who: str, step: Step) -> None:
        """Somebody asks: `team`, `wants`; `then` is the standing, `code` and `words` the reason."""
        answer = self.pool.asks(who, step["team"], step["wants"], **_choice(step))
        if isinstance(answer, Admitted):
            self._promote()
        _same(step["then"], standing_of(answer).value)
        if "code" in step:
            _same(step["code"], answer.reason.code)
        said = answer.why if isinstance(answer, Queued) else answer.reason.message
        assert step.get("words", "") in said, f"says {said!r}"

    def step_waits(self, who: str, step: Step) -> None:
        """Somebody is put into the queue: `team`, `wants`."""
        self.pool.waits(who, step["team"], step["wants"], **_choice(step))

    def step_passes(self, span: str, _step: Step) -> None:
        """Time passes."""
        self.pool.now += parse_duration(span)

    def step_ends(self, who: str, _step: Step) -> None:
        """A server has ended, or a request has left the queue."""
        self.pool.ends(who)
        self._promote()

    def step_is_only_held(self, who: str, _step: Step) -> None:
        """What somebody has is held for them, and they have not started."""
        self._change(who, state=LeaseState.held)

    def step_quota(self, quota: Mapping[str, str], _step: Step) -> None:
        """The guarantees of teams become others."""
        for name, nominal in quota.items():
            self._teams[name]["nominal"] = nominal
        self.pool.policy = self._policy(self._teams)

    def step_calls(self, who: Sequence[str], step: Step) -> None:
        """Exactly these are to be called in; `words` is in each reason."""
        calls = plan(self.pool.snapshot).calls
        _same(sorted(who), sorted(self._name(call.victim) for call in calls))
        for call in calls:
            assert step.get("words", "") in call.reason.message, f"says {call.reason.message!r}"

    def step_gives_up(self, who: Sequence[str], _step: Step) -> None:
        """Exactly what is held for these is given up."""
        given = plan(self.pool.snapshot).given_up
        _same(sorted(who), sorted(self._name(one.lease_id) for one in given))

    def step_are_told(self, who: Sequence[str], _step: Step) -> None:
        """These are called in: their notice begins."""
        for call in plan(self.pool.snapshot).calls:
            name = self._name(call.victim)
            assert name in who, f"{name} is called in as well"
            called = CalledIn(
                for_lease=call.for_lease,
                since=self.pool.now,
                stops_at=call.stops_at,
                reason=call.reason,
            )
            self._change(name, state=LeaseState.noticed, called_in=called)
            self._change(self._name(call.for_lease), caller_since=self.pool.now, priority=1999)

    def step_start_now(self, who: Sequence[str], _step: Step) -> None:
        """Exactly these of the queue could start now."""
        found = [one for one in line(self.pool.snapshot) if isinstance(one.decision, Admitted)]
        _same(list(who), [str(one.lease.key.user) for one in found])

    def step_stands(self, who: str, step: Step) -> None:
        """Somebody's server has a standing: `as`."""
        _same(step["as"], self._lease(who).standing.value)

    def _promote(self) -> None:
        for name in promotions(self.pool.policy, self.pool.leases):
            self._change(self._name(name), standing=Standing.guaranteed)

    def _change(self, who: str, **fields: object) -> None:
        self.pool.leases = [
            one.model_copy(update=fields) if one.key.user == who else one
            for one in self.pool.leases
        ]

    def _lease(self, who: str) -> OpenLease:
        return next(one for one in self.pool.leases if one.key.user == who)

    def _name(self, lease_id: str) -> str:
        return next(str(one.key.user) for one in self.pool.leases if one.id == lease_id)


_QUOTA = ("nominal", "borrowing_limit", "lending_limit")


def _choice(step: Step) -> dict[str, Any]:
    return {
        name: step[name] for name in ("project", "task_type", "only_guaranteed") if name in step
    }


def _same(expected: object, found: object) -> None:
    assert found == expected, f"expected {expected}, found {found}"
