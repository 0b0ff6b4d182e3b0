"""YAML text to plain data, remembering where each value stands. Knows nothing of policies.

Reads the parser's events itself and never recurses: text from anyone ends in data and findings,
also when keys repeat, nest too deeply, or refer to each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.nodes import ScalarNode

from ..i18n import _
from .problems import Finding, Path, path_text, printable, quoted

DEEPEST = 24
"""Levels of nesting that are read; a policy has eight."""

LONGEST = 1_000_000
"""Characters that are read; a policy of a thousand people has a twentieth of it."""

_TAG = "tag:yaml.org,2002:"


class Spot(NamedTuple):
    """Where a value stands, and its key; lines and columns count from 1."""

    key: tuple[int, int]
    value: tuple[int, int]
    text: str = ""
    """A scalar as it was written."""


@dataclass
class Source:
    """What was read: the data, where it stands, and what is wrong with the text itself."""

    data: Any = None
    spots: dict[Path, Spot] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    broken: set[Path] = field(default_factory=set)
    """Paths whose value could not be taken as it stands; what follows from it is no finding."""
    stopped: bool = False
    """Reading ended before the text did, so that what is missing says nothing."""

    def spot(self, path: Path) -> Spot:
        """Place of a path, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            found = self.spots.get(path[:end])
            if found is not None:
                return found
        return Spot((1, 1), (1, 1))


@dataclass
class _Open:
    """A mapping or list whose end has not come yet."""

    path: Path
    into: dict[str, Any] | list[Any]
    key: str | None = None
    key_at: tuple[int, int] = (1, 1)
    waits_for_value: bool = False
    ignored: bool = False


class _Stop(Exception):  # noqa: N818 - no error leaves this module
    """Reading on would not help; the finding is already recorded."""


def read(text: str) -> Source:
    """Read a YAML text.

    Returns
    -------
    The data as far as it could be read, and a finding for each fault of the text. No exception
    leaves this function, whatever the text is.
    """
    source = Source(stopped=True)
    if len(text) > LONGEST:
        message = _("the file has {n} characters, at most {most} are read").format(
            n=len(text), most=LONGEST
        )
        source.findings.append(_finding((), (1, 1), message, _("take away what is no policy")))
        return source
    reader = _Reader(source)
    try:
        for event in _events(text.removeprefix("\ufeff")):
            reader.take(event)
        source.stopped = False
    except _Stop:
        pass
    except MarkedYAMLError as fault:
        source.findings.append(_syntax(fault))
    except Exception as fault:  # noqa: BLE001 - a parser that trips over its input is a finding too
        source.findings.append(_unreadable(fault, text))
    return source


def _events(text: str) -> Iterator[Event]:
    events: Iterator[Event] = YAML(typ="safe", pure=True).parse(text)
    return events


def _finding(path: Path, at: tuple[int, int], message: str, remedy: str) -> Finding:
    return Finding(
        severity="error",
        path=path_text(path),
        line=at[0],
        column=at[1],
        message=message,
        remedy=remedy,
    )


def _at(event: Event) -> tuple[int, int]:
    return (event.start_mark.line + 1, event.start_mark.column + 1)


def _syntax(fault: MarkedYAMLError) -> Finding:
    mark = fault.problem_mark or fault.context_mark
    at = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    what = printable(" ".join(str(fault.problem or fault.context or fault).split()))
    remedy = _("look at this line and the one above: indentation, quotes, a missing colon")
    if "\\t" in what:
        remedy = _("indent with spaces, never with tabs")
    return _finding((), at, _("this is no YAML: {what}").format(what=what), remedy)


def _unreadable(fault: Exception, text: str) -> Finding:
    position = getattr(fault, "position", 0)
    before = text[:position] if isinstance(position, int) else ""
    at = (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
    what = printable(" ".join(str(getattr(fault, "reason", None) or fault).split()))
    return _finding(
        (),
        at,
        _("this is no YAML: {what}").format(what=what or type(fault).__name__),
        _("keep to printable text in UTF-8"),
    )


class _Reader:
    """Builds data from events, one at a time."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.stack: list[_Open] = []
        self.documents = 0
        self.resolver = YAML(typ="safe", pure=True).resolver

    def take(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case DocumentStartEvent():
                self._document(event)
            case MappingStartEvent():
                self._open(event, {})
            case SequenceStartEvent():
                self._open(event, [])
            case MappingEndEvent() | SequenceEndEvent():
                self.stack.pop()
            case ScalarEvent():
                self._scalar(event)
            case AliasEvent():
                self._fault(
                    event,
                    _("aliases (*{name}) are not read here").format(name=printable(event.anchor)),
                    _("write the value out, so that each line of the policy stands for itself"),
                )
                self._put(event, None, broken=True)
            case _:
                pass

    def _document(self, event: Event) -> None:
        self.documents += 1
        if self.documents > 1:
            self._fault(
                event,
                _("a second document begins here"),
                _("keep one policy in one file, without `---` inside"),
            )
            raise _Stop

    def _fault(self, event: Event, message: str, remedy: str) -> None:
        if self.stack and self.stack[-1].ignored:
            return
        self.source.findings.append(_finding(self._path(), _at(event), message, remedy))

    def _path(self) -> Path:
        """Path of the value that comes next."""
        if not self.stack:
            return ()
        top = self.stack[-1]
        if isinstance(top.into, list):
            return (*top.path, len(top.into))
        return top.path if top.key is None else (*top.path, top.key)

    def _open(
        self, event: MappingStartEvent | SequenceStartEvent, into: dict[str, Any] | list[Any]
    ) -> None:
        if len(self.stack) >= DEEPEST:
            self._fault(event, _("this is nested too deeply"), _("a policy has eight levels"))
            raise _Stop
        if event.tag is not None:
            self._tagged(event)
        if self._is_key():
            self._no_text_key(event)
            self.stack.append(_Open(self._path(), into, ignored=True))
            return
        path = self._path()
        self.stack.append(_Open(path, into, ignored=self._put(event, into)))

    def _is_key(self) -> bool:
        return (
            bool(self.stack)
            and isinstance(self.stack[-1].into, dict)
            and not self.stack[-1].waits_for_value
        )

    def _no_text_key(self, event: Event) -> None:
        top = self.stack[-1]
        self._fault(event, _("a key must be text"), _("write a name before the colon"))
        top.key, top.waits_for_value = None, True

    def _tagged(self, event: MappingStartEvent | SequenceStartEvent | ScalarEvent) -> None:
        self._fault(
            event,
            _("tags ({tag}) are not read here").format(tag=printable(str(event.tag))),
            _("take the tag away; put text in quotes"),
        )

    def _scalar(self, event: ScalarEvent) -> None:
        if event.tag is not None:
            self._tagged(event)
        if self._is_key():
            self._key(event)
            return
        try:
            value = self._value(event)
        except ValueError:
            self._fault(
                event,
                _("{text} is no number that can be read").format(text=quoted(event.value)),
                _("shorten it, or put it in quotes if it is text"),
            )
            self._put(event, None, broken=True)
            return
        self._put(event, value, text=event.value)

    def _key(self, event: ScalarEvent) -> None:
        top = self.stack[-1]
        into, name = top.into, event.value
        top.key, top.key_at, top.waits_for_value = name, _at(event), True
        if self._kind(event) in {"int", "float", "bool", "null"}:
            self._fault(
                event,
                _("the key {key} is no text").format(key=quoted(name)),
                _('put it in quotes: "{key}"').format(key=printable(name)),
            )
        if isinstance(into, dict) and name in into:
            first = self.source.spots.get((*top.path, name))
            self._fault(
                event,
                _("{key} is here twice").format(key=quoted(name)),
                _("keep one; the first is in line {line}").format(
                    line=first.key[0] if first else 1
                ),
            )
            top.key = None

    def _kind(self, event: ScalarEvent) -> str:
        """What a plain scalar means: str, int, float, bool, null, timestamp and others."""
        if not event.implicit[0]:
            return "str"
        tag = str(self.resolver.resolve(ScalarNode, event.value, event.implicit))
        return tag.removeprefix(_TAG)

    def _value(self, event: ScalarEvent) -> object:
        text = event.value
        match self._kind(event):
            case "int":
                return int(text, 10) if text.lstrip("+-").isdecimal() else int(text, 0)
            case "float":
                return float(text.replace(".inf", "inf").replace(".nan", "nan"))
            case "bool":
                return text.lower() in {"true", "yes", "on", "y"}
            case "null":
                return None
            case _:
                return text

    def _put(self, event: Event, value: object, *, text: str = "", broken: bool = False) -> bool:
        """Put a value where it belongs and note where it stands; say whether it is lost."""
        if not self.stack:
            self.source.data = value
            self.source.spots[()] = Spot((1, 1), _at(event), text)
            return False
        top, path = self.stack[-1], self._path()
        lost = top.ignored or (isinstance(top.into, dict) and top.key is None)
        if not lost:
            key_at = top.key_at if isinstance(top.into, dict) else _at(event)
            self.source.spots[path] = Spot(key_at, _at(event), text)
            if broken:
                self.source.broken.add(path)
        if isinstance(top.into, list):
            top.into.append(value)
        elif top.key is not None:
            top.into[top.key] = value
        top.waits_for_value = False
        return lost
