"""What a check says, and what all checks look at; no check changes anything."""

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

from ...statedir import run_of
from ..onsite import Onsite

_ANSWER_S = 5.0


class Verdict(StrEnum):
    """How a thing stands. `wrong` makes the command end with 1."""

    ok = "ok"
    warn = "warn"
    wrong = "wrong"


@dataclass(frozen=True)
class Finding:
    """One line: how it stands, in words, and what to do where something is to be done."""

    verdict: Verdict
    words: str
    remedy: str = ""


def ok(words: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(Verdict.ok, words)


def warn(words: str, remedy: str) -> Finding:
    """Say what may become a fault, or could not be looked at."""
    return Finding(Verdict.warn, words, remedy)


def wrong(words: str, remedy: str) -> Finding:
    """Say what has to be mended."""
    return Finding(Verdict.wrong, words, remedy)


@dataclass(frozen=True)
class Answer:
    """What came over HTTP; status 0 means that nothing did, and `words` say why.

    `off_s` is how many seconds the other's clock is ahead of ours, to the second; None if untold.
    """

    status: int
    words: str
    body: Any
    off_s: int | None


def ask(url: str, token: str | None = None) -> Answer:
    """Make one GET; any answer is one, and no proxy of the environment is used."""
    headers = {"Accept": "application/json"}
    if token is not None:
        headers["Authorization"] = f"token {token}"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - addresses of this hub
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_ANSWER_S) as response:
            return _answer(response.status, response.reason, response.headers, response.read())
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error.reason, error.headers, error.read())
    except (OSError, ValueError) as error:
        return Answer(0, str(getattr(error, "reason", error)), None, None)


def _answer(status: int, words: str, headers: Any, body: bytes) -> Answer:  # noqa: ANN401 - http.client's headers
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    try:
        date = parsedate_to_datetime(headers["Date"])
        off_s = round((date - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        off_s = None
    return Answer(status, words, content, off_s)


@dataclass(frozen=True)
class Look:
    """What the checks look at: one hub. `url` is its public address, where somebody named it."""

    site: Onsite
    url: str | None = None
    cluster: Path | None = None
    """The kubeconfig of the cluster, where somebody named it."""

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Settings as `configure()` left them at the hub's last start; empty where it never ran."""
        known = run_of(self.site.state).get("set")
        return known if isinstance(known, dict) else {}

    @cached_property
    def governor(self) -> int | None:
        """Pid of the living governor, 0 where it cannot be told, or None."""
        return self.site.governor()

    @cached_property
    def hub_api(self) -> str | None:
        """Address of the hub's API, as the living governor was told; None where none lives."""
        if not self.governor:
            return None
        try:
            told: str | None = psutil.Process(self.governor).environ().get("JUPYTERHUB_API_URL")
        except psutil.Error:
            return None
        return told.rstrip("/") if told else None

    def told(self, variable: str) -> str:
        """Say what the living governor was told, or else whoever calls; empty where nobody was."""
        if self.governor:
            try:
                own: str = psutil.Process(self.governor).environ().get(variable, "")
            except psutil.Error:
                own = ""
            if own:
                return own
        return os.environ.get(variable, "")

    @property
    def kubeconfig(self) -> Path | None:
        """The file by which the cluster is found; None is the pod's own account."""
        named = self.told("GPU_COMMONS_KUBECONFIG")
        return self.cluster or (Path(named) if named else None)

    @cached_property
    def health(self) -> Answer:
        """The governor's own word on itself."""
        return ask(f"{self.site.api.removesuffix('/api/v1')}/healthz")
