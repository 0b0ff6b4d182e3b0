"""The core's part that concerns shares: moves of quota inside a team, and a person's limits.

Like the rest of the core: synchronous, in one thread, `now` with each call.
"""

from collections.abc import Collection
from datetime import datetime

from ...errors import RefusedError
from ...i18n import _
from ...lease import Actor, LimitSheet, MoveSheet
from ...lease.budgets import BudgetRow
from ...policy.catalogue import Person
from ..books import moving
from ..books.desk import Desk
from ..money import budgetrows, budgetsteps
from ..rules import limits


class ShareCore:
    """Everything of the governor that concerns shares and limits."""

    _desk: Desk

    def moves(self, team: str, *, now: datetime) -> MoveSheet:
        """Show the shares of a team's projects and its moves.

        Raises
        ------
        RefusedError
            When the policy has no such team.
        """
        policy = self._desk.book.policy
        if team not in policy.teams:
            raise RefusedError(
                "no-such-team",
                _("The policy has no team {team}.").format(team=repr(team[:80])),
                status=404,
            )
        with self._desk.turn(now) as turn:
            return moving.sheet(turn.tx, self._desk.moves, policy, team, now)

    def move_quota(
        self, team: str, wanted: moving.WantedMove, *, reason: str, actor: Actor, now: datetime
    ) -> MoveSheet:
        """Move quota between two projects of a team from a day on; see `moving.wished`."""
        self.moves(team, now=now)
        policy, book = self._desk.book.policy, self._desk.moves
        with self._desk.turn(now, actor) as turn:
            first, _until = moving.wished(policy, team, wanted, book.load(turn.tx), now)
            made = moving.as_move(team, wanted, first, now).model_copy(
                update={
                    "id": f"q-{self._desk.new_id().removeprefix('l-')}",
                    "reason": reason,
                    "by": actor.name,
                }
            )
            turn.tx.append(moving.event_of(made, actor))
        # Only what is on the record holds.
        book.made.append(made)
        return self.moves(team, now=now)

    def tend_budgets(self, *, now: datetime) -> None:
        """Record steps of budgets that are reached, and tell of them; see `budgetsteps.tend`."""
        budgetsteps.tend(self._desk, now=now)

    def budgets(
        self, teams: Collection[str] | None = None, *, now: datetime
    ) -> tuple[BudgetRow, ...]:
        """Show the budgets of some teams or of all, and of each person who has used some."""
        with self._desk.turn(now) as turn:
            policy = turn.policy
            found = turn.budgets(policy)
        return budgetrows.of_teams(found, policy, teams, self._desk.reached)

    def limits(self, person: Person, *, now: datetime) -> LimitSheet:
        """List every rule that binds a person; see `limits.sheet`."""
        with self._desk.turn(now) as turn:
            policy = turn.policy
            return limits.sheet(
                policy,
                person,
                turn.tx.leases(),
                limits.Money(turn.budgets(policy), self._desk.reached),
                generation=self._desk.book.state.generation,
                now=now,
            )
