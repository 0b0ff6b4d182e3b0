"""A policy file to checked values: every fault at once, each with its place and its remedy.

The only part of the policy that reads a file, and only the one it is given. Whatever the file
holds, the outcome is a policy or a PolicyError.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path as FilePath

from pydantic import ValidationError

from ..errors import PolicyError
from ..i18n import _
from ..lease import Value
from .checks import check
from .checks.network import check_single
from .faults import Fault, faults
from .model import Policy
from .problems import Finding, Path, Problem, path_text
from .source import LONGEST, Source, read

__all__ = ["Finding", "Loaded", "content_of", "load", "loads", "locate"]

MOST_FINDINGS = 100
"""Findings that are shown; more have one cause, and mending it brings up the rest."""

MOST_BYTES = 4 * LONGEST
"""A text that may be read has no more: a character takes at most four."""


class Loaded(Value):
    """A policy that may act, its text word for word, and what is odd about it."""

    policy: Policy
    text: str
    sha256: str
    """Of the text in UTF-8, as hexadecimal digits."""
    warnings: tuple[Finding, ...]


def load(path: FilePath, *, name: str | None = None, single: str | None = None) -> Loaded:
    """Read and check a policy file.

    Parameters
    ----------
    name
        How the findings call the file; its own name unless given.
    single
        The one namespace of all servers on Kubernetes; None where each project has its own, or
        where that is not known.

    Raises
    ------
    PolicyError
        When the file cannot be read or the policy cannot be used; one line for each fault.
    """
    shown = path.name if name is None else name
    try:
        text = content_of(path).decode("utf-8")
    except OSError as error:
        raise _whole(shown, _("cannot be read: {why}").format(why=error.strerror)) from None
    except ValueError:
        raise _whole(shown, _("is no text in UTF-8; save it as such")) from None
    return loads(text, name=shown, single=single)


def content_of(path: FilePath) -> bytes:
    """Read a policy file's bytes; never waits, and never reads without end.

    Raises
    ------
    OSError
        When there is no such file, or what is there is no regular file of a policy's size.
    """
    # A named pipe would be waited for, and a device is read until memory is full.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(None, _("it is no regular file"), str(path))
    with os.fdopen(handle, "rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(None, _("it has more than {n} bytes").format(n=MOST_BYTES), str(path))
    return content


def _whole(name: str, message: str) -> PolicyError:
    return PolicyError((_of_file(message, "").text(name),))


def _of_file(message: str, remedy: str) -> Finding:
    return Finding(severity="error", path="", line=1, column=1, message=message, remedy=remedy)


def loads(text: str, *, name: str = "policy.yaml", single: str | None = None) -> Loaded:
    """Read and check a policy's text.

    Parameters
    ----------
    name
        How the findings call the file.
    single
        As in `load`.

    Raises
    ------
    PolicyError
        When the policy cannot be used; one line for each fault, warnings among them.
    """
    source = read(text)
    found = list(source.findings)
    policy = None if source.stopped else _validated(source, found)
    if policy is not None:
        of_site = check_single(policy, single) if single else ()
        found.extend(_placed(source, (*check(policy), *of_site)))
    found.sort(key=lambda one: (one.line, one.column, one.path))
    if policy is None or any(one.severity == "error" for one in found):
        raise PolicyError(_lines(found, name))
    return Loaded(
        policy=policy,
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        warnings=tuple(found),
    )


def locate(text: str, problems: Iterable[Problem]) -> tuple[Finding, ...]:
    """Find the places of problems that were found outside, in a text that could be read."""
    return tuple(_placed(read(text), problems))


def _validated(source: Source, found: list[Finding]) -> Policy | None:
    if not isinstance(source.data, dict):
        if not found:
            found.append(
                _of_file(
                    _("this is no policy"),
                    _("begin with `version: 1`; config/policy.yaml is an example"),
                )
            )
        return None
    try:
        return Policy.model_validate(source.data)
    except ValidationError as error:
        found.extend(
            _of_fault(source, one)
            for one in faults(error, source.data)
            if not any(one.path[: len(broken)] == broken for broken in source.broken)
        )
        return None


def _of_fault(source: Source, fault: Fault) -> Finding:
    spot = source.spot(fault.path)
    line, column = spot.key if fault.at_key else spot.value
    return Finding(
        severity="error",
        path=fault.shown,
        line=line,
        column=column,
        message=fault.message,
        remedy=fault.remedy,
    )


def _placed(source: Source, problems: Iterable[Problem]) -> list[Finding]:
    return [
        Finding(
            severity=one.severity,
            path=path_text(one.path),
            line=at[0],
            column=at[1],
            message=one.message,
            remedy=one.remedy,
        )
        for one in problems
        for at in [_place(source, one.path)]
    ]


def _place(source: Source, path: Path) -> tuple[int, int]:
    """Point at a scalar itself, but at the name of a mapping or list."""
    spot = source.spot(path)
    return spot.value if spot.text else spot.key


def _lines(found: list[Finding], name: str) -> tuple[str, ...]:
    lines = [one.text(name) for one in found[:MOST_FINDINGS]]
    if len(found) > MOST_FINDINGS:
        lines.append(_("{name}: {n} more").format(name=name, n=len(found) - MOST_FINDINGS))
    return tuple(lines)
