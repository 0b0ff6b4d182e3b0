"""Idle rules on trial, and whom they would have stopped so far: for administrators."""

from typing import Literal

from pydantic import AwareDatetime

from .words import LeaseId, ServerName, ShortText, TeamName, UserName, Value


class WouldStop(Value):
    """One stop that a rule on trial would have made, and what came of the server instead.

    What it would have given back runs from the stop until somebody worked in the server again,
    it ended, or now. `amount_micro` is None where none of that had a price.
    """

    lease_id: LeaseId
    user: UserName
    server: ServerName
    team: TeamName
    at: AwareDatetime
    worked_again_at: AwareDatetime | None = None
    """When it was used again in the same lease: the stop would likely have been wrong."""
    ended_at: AwareDatetime | None = None
    unit_s: int = 0
    """GPU time given back, in units x seconds."""
    unpriced_unit_s: int = 0
    """What of that had no price."""
    amount_micro: int | None = None
    words: str = ""
    """The judgement behind it, in a sentence."""
    gpu_alone: bool = False
    """Its GPU lay unused beside other work: only a use of the GPU is use again."""


class TrialPerson(Value):
    """What a rule on trial would have done to the servers of one person in one team."""

    user: UserName
    team: TeamName
    servers: int
    stops: int
    worked_again: int
    unit_s: int
    unpriced_unit_s: int
    amount_micro: int | None


class IdleTrial(Value):
    """One idle rule on trial, and what it would have done since it began."""

    rule: ShortText
    begun_at: AwareDatetime
    trial_s: int
    watched_s: int
    """For how long servers were really judged by it; what the governor was away is no part."""
    left_s: int
    over: bool
    changes: tuple[str, ...]
    """What it changes in the rule that stays in force until it is switched on, a line each."""
    replaces: bool
    """Whether a former rule of this name is in force meanwhile."""
    servers: int
    stops: int
    worked_again: int
    unit_s: int
    unpriced_unit_s: int
    amount_micro: int | None
    kept: int
    """Servers that the rule in force stopped as idle, and this one would not have by then."""
    people: tuple[TrialPerson, ...]
    """Whose they are, who gives most back first."""
    newest: tuple[WouldStop, ...]


class TrialSheet(Value):
    """`GET idle/trials`: all rules on trial, and by which rule the figures are an estimate."""

    at: AwareDatetime
    timezone: ShortText
    currency: ShortText
    mode: Literal["observe", "advise", "enforce"]
    """Whether idle rules act at all."""
    trials: tuple[IdleTrial, ...]
    estimate: str


class SwitchOn(Value):
    """What an administrator says who switches a rule on."""

    before_its_time: bool = False
    """Whether it shall act although its trial is not over."""
