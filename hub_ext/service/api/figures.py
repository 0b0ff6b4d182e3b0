"""Figures: usage and charges, load of the pools, the policy in force, health, the API's own shape.

Each says only what the caller may see.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus

from ...errors import RefusedError
from ...i18n import _
from ...lease import Health, PolicyView, QueueSheet, Reason, Usage
from ..basis.access import Caller
from ..basis.refusals import not_allowed
from ..core.governor import Governor
from ..http import metrics
from ..http.web import BaseHandler, OpenHandler
from ..money.usage import Scope
from ..workers.loops import Beat
from .queries import stretch

_MISSED, _SLACK_S = 3, 30.0
"""A loop that missed so many turns, and some seconds more, is stuck."""

_ME, _ALL, _TEAM = "me", "all", "team:"


def scope_of(caller: Caller, text: str, leads: tuple[str, ...]) -> Scope:
    """Turn the argument `scope` into whose usage it is, as far as the caller may see it.

    Raises
    ------
    RefusedError
        400 for no scope at all; 403 for one of others, whether it exists or not.
    """
    if text == _ME:
        if caller.kind != "person":
            raise not_allowed(_("see usage"))
        return Scope(_ME, user=caller.name)
    if text == _ALL:
        if not caller.admin:
            raise not_allowed(_("see everybody's usage"))
        return Scope(_ALL)
    team = text.removeprefix(_TEAM)
    if not text.startswith(_TEAM) or not team:
        raise RefusedError(
            "bad-request",
            _("scope is me, all, or team: and a team's name, for example scope=team:vision."),
            status=HTTPStatus.BAD_REQUEST,
        )
    if not caller.admin and team not in leads:
        raise not_allowed(_("see this team's usage"))
    return Scope(text, teams=(team,))


class UsageHandler(BaseHandler):
    """`GET usage`: what was held, used and charged in a window."""

    act = _("see usage")

    async def get(self) -> None:
        """Sum it up."""
        caller, text = self.caller, self.get_query_argument("scope", _ME)

        def act(core: Governor, now: datetime) -> Usage:
            policy = core.policy
            scope = scope_of(caller, text, caller.leads(policy))
            start, end = stretch(self, now, policy.timezone)
            return core.usage(scope, start, end, now=now)

        self.answer(await self.core.run(act))


class QueueHandler(BaseHandler):
    """`GET queue`: load of the pools, and the waiting requests that the caller may see."""

    act = _("see the queue")

    async def get(self) -> None:
        """Tell it to everybody who may use the service; drift names devices and is for admins."""
        caller = self.caller

        def act(core: Governor, now: datetime) -> QueueSheet:
            policy = core.known_policy
            tickets = core.tickets(lambda lease: caller.sees(lease, policy), now=now)
            own = [one.lease_id for one in tickets if one.server.user == caller.name]
            could = {one: core.can_start(one, now=now) for one in own}
            sheet = core.queue(now=now)
            leads = caller.leads(policy)
            return sheet.model_copy(
                update={
                    "batch": tuple(one for one in sheet.batch if caller.admin or one.team in leads),
                    "tickets": tuple(
                        one.model_copy(update={"can_start": could.get(one.lease_id, ())})
                        for one in tickets
                    ),
                }
            )

        sheet = await self.core.run(act)
        if not caller.admin:
            sheet = sheet.model_copy(update={"drift": ()})
        self.answer(sheet)


class PolicyHandler(BaseHandler):
    """`GET policy`: which policy is in force."""

    act = _("see the policy")

    async def get(self) -> None:
        """Tell its generation to everybody, its text and problems to admins."""
        admin = self.caller.admin

        def act(core: Governor, _now: datetime) -> PolicyView:
            policy, state = core.policy, core.policy_state
            if not admin:
                hidden = tuple(_("see an administrator") for _finding in state.problem[:1])
                state = state.model_copy(update={"problem": hidden, "waiting": ()})
            return PolicyView(
                state=state,
                currency=policy.currency,
                timezone=policy.timezone,
                modes={"quota": policy.modes.quota, "idle": policy.modes.idle},
                text=core.policy_text if admin else None,
            )

        self.answer(await self.core.run(act))


_HEALTH = "health_in_progress"
"""Key of the look at the governor's health that is under way."""


class HealthHandler(OpenHandler):
    """`GET /healthz`: open to everybody."""

    async def get(self) -> None:
        """Answer 200 while it can decide, 503 while it cannot."""
        health = await asyncio.shield(self._look())
        stuck = _stuck_loops(self.settings["beats"])
        if stuck:
            status = "degraded" if health.status == "ok" else health.status
            problems = (*health.problems, *stuck)
            health = health.model_copy(update={"status": status, "problems": problems})
        failing = health.status == "failing"
        self.answer(health, HTTPStatus.SERVICE_UNAVAILABLE if failing else HTTPStatus.OK)

    def _look(self) -> "asyncio.Task[Health]":
        """Look, or join the look under way: however many ask, a start waits for one at most."""
        under_way: asyncio.Task[Health] | None = self.settings.get(_HEALTH)
        if under_way is None or under_way.done():
            under_way = asyncio.create_task(
                self.core.run(lambda core, now: core.health(now=now)), name=_HEALTH
            )
            self.settings[_HEALTH] = under_way
        return under_way


def _stuck_loops(beats: Mapping[str, Beat]) -> tuple[Reason, ...]:
    return tuple(
        Reason(
            code="loops",
            message=_("The recurring work {name} fails; the log says why.").format(name=name),
            figures={"loop": name, "failures": beat.failures},
        )
        for name, beat in beats.items()
        if beat.words or (beat.age_s() or 0) > _MISSED * beat.every_s + _SLACK_S
    )


class MetricsHandler(BaseHandler):
    """`GET /metrics`: figures for Prometheus; they name teams and pools."""

    kinds = frozenset({"person", "service"})
    act = _("read metrics")

    async def get(self) -> None:
        """Send them to admins and to whoever has the hub's scope for metrics."""
        if not self.caller.metrics:
            raise not_allowed(_("read metrics; it needs the scope read:metrics"))
        facts = await self.core.run(metrics.gather)
        self.set_header("Content-Type", metrics.CONTENT_TYPE)
        self.finish(metrics.text(facts, self.settings["beats"]))
