"""Follows the policy file: a right text comes into force, a wrong one is told and left aside.

The file is read whole each time: its times lie on some file systems, its bytes never do.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ...errors import FencedError, LedgerError, PolicyError
from ...i18n import _
from ...policy.load import Loaded, content_of, loads
from ..core.governor import Governor
from ..core.runner import CoreRunner
from ..rules import consent
from ..rules.consent import Consent

_LOG = logging.getLogger(__name__)


class PolicyFile:
    """One policy file, and the bytes of it that were last looked at.

    Parameters
    ----------
    state
        State directory, where an administrator's word on a text may lie; None where none is taken.
    single
        The one namespace of all servers on Kubernetes; empty where there is no such.
    """

    def __init__(self, path: Path, state: Path | None = None, single: str = "") -> None:
        self._path = path
        self._state = state
        self._single = single
        self._last: bytes | str | None = ""

    def consent(self) -> Consent | None:
        """An administrator's word that was not taken yet."""
        return None if self._state is None else consent.found(self._state)

    def followed(self, word: Consent) -> None:
        """Let a word count once."""
        if self._state is not None:
            consent.taken(self._state, word)

    def forget(self) -> None:
        """Take the file for changed at the next call."""
        self._last = ""

    def changed(self) -> Loaded | None:
        """Read and check the file; None where it is as it was at the last call.

        Raises
        ------
        PolicyError
            When it changed and cannot be used.
        """
        try:
            content = content_of(self._path)
        except OSError as error:
            words = error.strerror or str(error)
            if self._last == words:
                return None
            self._last = words
            raise PolicyError(
                (
                    _("{name}:1:1: error: the file cannot be read: {words}; restore it").format(
                        name=self._path.name, words=words
                    ),
                )
            ) from error
        if content == self._last:
            return None
        self._last = content
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PolicyError(
                (_("{name}:1:1: error: it is no UTF-8 text").format(name=self._path.name),)
            ) from error
        return loads(text, name=self._path.name, single=self._single)


async def look(core: CoreRunner, file: PolicyFile) -> None:
    """Look at the file once, and tell the core what is new.

    Raises
    ------
    LedgerError
        When it cannot be recorded; the next look finds it new again.
    """
    try:
        await _tell(core, file)
    except LedgerError:
        file.forget()
        raise


async def _tell(core: CoreRunner, file: PolicyFile) -> None:
    word = await asyncio.to_thread(file.consent)
    try:
        loaded = await asyncio.to_thread(file.changed)
    except PolicyError as error:
        _LOG.error("the policy file cannot be used:\n%s", error)
        await core.run(_refusing(error))
        return
    if loaded is None and word is None:
        return
    generation = await core.run(_taking(loaded, word))
    if generation is not None:
        _LOG.info("policy generation %s is in force", generation)
    elif loaded is not None:
        _LOG.warning("the changed policy waits for an administrator: %s", loaded.sha256)
    if word is not None and generation is not None:
        await asyncio.to_thread(file.followed, word)


def _taking(
    loaded: Loaded | None, word: Consent | None
) -> Callable[[Governor, datetime], int | None]:
    """Take a changed file, or the word on the one that waits."""

    def act(governor: Governor, now: datetime) -> int | None:
        if loaded is not None:
            return governor.offer_policy(loaded, word, now=now)
        state = governor.policy_state
        if word is None or word.sha256 != state.waiting_sha256:
            settled = word is not None and word.sha256 == state.sha256
            return state.generation if settled else None
        return governor.accept_policy(word.sha256, reason=word.reason, actor=word.actor, now=now)

    return act


def _refusing(error: PolicyError) -> Callable[[Governor, datetime], None]:
    """Refuse a text; at a start, go on with the newest one that was ever accepted."""

    def act(governor: Governor, now: datetime) -> None:
        text = governor.newest_policy_text() if governor.known_policy is None else None
        if text is not None:
            try:
                governor.set_policy(loads(text), now=now)
            except PolicyError:
                # This version's checks refuse what an older one accepted: start with none.
                _LOG.exception("the last accepted policy cannot be used either")
        governor.refuse_policy(error, now=now)

    return act


async def follow(core: CoreRunner, file: PolicyFile, every_s: float) -> None:
    """Look again and again, until cancelled.

    Raises
    ------
    FencedError
        When another governor holds the ledger now.
    """
    while True:
        await asyncio.sleep(every_s)
        try:
            await look(core, file)
        except FencedError:
            raise
        except LedgerError as error:
            _LOG.warning("the policy is not recorded: %s", error)
