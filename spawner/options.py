"""What a person chose, from the form's fields or from any JSON a REST client sends.

Both ways meet in `read_options`, because the hub runs no form code for REST. Nothing about
leases is ever read from here: the hub stores options of refused starts and uses them again.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from hub_ext.errors import RefusedError, UnitError
from hub_ext.i18n import _, ngettext
from hub_ext.lease import Choice, ProfileName, ProjectName, TaskTypeName, TeamName, Value, When
from hub_ext.lease.value import MOST_PURPOSE
from hub_ext.units import parse_duration

FIELDS = (
    "profile",
    "team",
    "project",
    "lifetime",
    "task_type",
    "wait",
    "borrow",
    "alone",
    "purpose",
)
NAMES = ("profile", "team", "project", "task_type")
OFFER = "offer"
"""The form's radio button: profile and team in one, so that no team can be missed."""

WAIT = "wait"
"""What happens to a request that cannot start at once; see `WAITS`."""

TASK = "task_type"
"""What the server is for, a task type of the policy."""

BORROW = "borrow"
"""Whether it may start on quota that others leave free, or rather waits for the guarantee."""

NO_BORROWING = "no"
BORROWS = ("yes", NO_BORROWING)

ALONE = "alone"
"""Whether it shares its GPU, or its machine, with nobody."""

SHARED = "no"
ALONES: dict[str, Literal["gpu", "node"] | None] = {SHARED: None, "gpu": "gpu", "node": "node"}
"""Values of `alone`, and what each asks for."""

PURPOSE = "purpose"
"""What the server is for, in a sentence of the person's own."""

NO_WAIT = "no"
WAITS = (NO_WAIT, *When)
"""Values of `wait`: refuse it, or let it wait and then start the server, or hold a device."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_LONGEST = timedelta(days=365)
_MOST_NAMED = 5


class Options(Value):
    """Checked options; what is None is left to the policy."""

    profile: ProfileName | None = None
    team: TeamName | None = None
    project: ProjectName | None = None
    lifetime_s: int | None = None
    when: When | None = None
    task_type: TaskTypeName | None = None
    only_guaranteed: bool = False
    alone: Literal["gpu", "node"] | None = None
    purpose: str = ""
    """No part of the choice: another wording is no other wish."""

    def choice(self, profile: ProfileName) -> Choice:
        """Make the choice that is asked for, with the given profile."""
        return Choice(
            profile=profile,
            team=self.team,
            project=self.project,
            lifetime_s=self.lifetime_s,
            task_type=self.task_type,
            only_guaranteed=self.only_guaranteed,
            alone=self.alone,
        )


def read_options(raw: object) -> Options:
    """Check options of any shape.

    Raises
    ------
    RefusedError
        Status 400; says which option is wrong, and what is allowed.
    """
    if not isinstance(raw, Mapping):
        raise _wrong(_("The options of a server are an object with named values."))
    unknown = [key for key in raw if key not in FIELDS]
    if unknown:
        raise _wrong(
            ngettext("Unknown option: {names}.", "Unknown options: {names}.", len(unknown)).format(
                names=", ".join(_shown(key) for key in unknown[:_MOST_NAMED])
            )
        )
    texts = {field: _text(field, raw.get(field)) for field in FIELDS}
    lifetime = texts["lifetime"]
    profile, team, project, task = (_name(field, texts[field]) for field in NAMES)
    return Options(
        profile=None if profile is None else ProfileName(profile),
        team=None if team is None else TeamName(team),
        project=None if project is None else ProjectName(project),
        lifetime_s=None if lifetime is None else _lifetime_s(lifetime),
        when=_when(texts[WAIT]),
        task_type=None if task is None else TaskTypeName(task),
        only_guaranteed=_only_guaranteed(texts[BORROW]),
        alone=_alone(texts[ALONE]),
        purpose=_purpose(texts[PURPOSE]),
    )


def options_from_form(form_data: Mapping[str, object]) -> dict[str, object]:
    """Turn form fields (lists of text) into options; what is odd stays, to be refused by name."""
    options: dict[str, object] = {}
    for key, values in form_data.items():
        value = values[0] if isinstance(values, list) and len(values) == 1 else values
        if key == "_xsrf" or value in ("", [], None):
            continue
        # Uploads are objects that the hub could not store.
        options[key] = value if isinstance(value, str) else _shown(value)
    offer = options.pop(OFFER, None)
    if isinstance(offer, str):
        profile, slash, team = offer.partition("/")
        options["profile"] = profile
        if slash:
            options["team"] = team
    return options


def _text(field: str, value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise _wrong(
            _("The option {field} is text, not {value}.").format(field=field, value=_shown(value))
        )
    return value


def _name(field: str, text: str | None) -> str | None:
    if text is not None and not _NAME.fullmatch(text):
        raise _wrong(
            _("{value} is no name of a {field}: names are lower-case letters, digits, '-' and '.'.")
            .format(value=_shown(text), field=field)
        )  # fmt: skip
    return text


def _lifetime_s(text: str) -> int:
    try:
        # Bounded before it is parsed: Python refuses to convert thousands of digits.
        span = parse_duration(text) if len(text) <= 32 else timedelta(0)  # noqa: PLR2004 - no duration is longer
    except UnitError:
        span = timedelta(0)
    if not timedelta(0) < span <= _LONGEST:
        raise _wrong(
            _("{value} is no lifetime: write for example '90m', '4h' or '2d', at most '365d'.")
            .format(value=_shown(text))
        )  # fmt: skip
    return int(span.total_seconds())


def _when(text: str | None) -> When | None:
    if text is None or text == NO_WAIT:
        return None
    try:
        return When(text)
    except ValueError:
        words = _("{value} is no way to wait: write one of {known}.")
        raise _wrong(words.format(value=_shown(text), known=", ".join(WAITS))) from None


def _only_guaranteed(text: str | None) -> bool:
    if text is not None and text not in BORROWS:
        words = _("{value} does not say whether to borrow: write one of {known}.")
        raise _wrong(words.format(value=_shown(text), known=", ".join(BORROWS)))
    return text == NO_BORROWING


def _alone(text: str | None) -> Literal["gpu", "node"] | None:
    if text is not None and text not in ALONES:
        words = _("{value} does not say what to share with nobody: write one of {known}.")
        raise _wrong(words.format(value=_shown(text), known=", ".join(ALONES)))
    return None if text is None else ALONES[text]


def _purpose(text: str | None) -> str:
    words = " ".join((text or "").split())
    if len(words) > MOST_PURPOSE or not words.isprintable():
        raise _wrong(
            _("A purpose is one sentence of at most {most} characters.").format(most=MOST_PURPOSE)
        )
    return words


def _wrong(what: str) -> RefusedError:
    known = _("Known options are {names}; choose on the form, or send only these.").format(
        names=", ".join(FIELDS)
    )
    return RefusedError("bad-options", f"{what} {known}", status=400)


def _shown(value: object) -> str:
    """Show what somebody sent, short and without control characters."""
    text = ascii(value)
    return text if len(text) <= 48 else f"{text[:45]}..."  # noqa: PLR2004 - fits one line of a page
