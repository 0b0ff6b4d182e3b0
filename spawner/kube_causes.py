"""What Kubernetes says of a trouble, in words for people: the causes behind its messages. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hub_ext.i18n import _, ngettext

_PART = re.compile(r"(?:^|, |: |\. )(\d+) (.*?)(?=, \d+ |\. |\.$|$)")
_NO_MACHINE = re.compile(r"0/(\d+) nodes are available")
_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9./_-]+[A-Za-z0-9])")
_TAINT = re.compile(r"untolerated taint\(?s?\)? ?(?:\{(.*?)\})?")
_MOST = 160


def unschedulable_words(message: str) -> str:
    """Say why no machine was found, machine by machine."""
    match = _NO_MACHINE.search(message)
    body = message[match.end() :] if match else message
    body = body.split(". preemption:")[0].split(". no new claims")[0]
    parts = [_lack(int(number), what) for number, what in _PART.findall(body)]
    lead = _("The cluster finds no machine for this server")
    if match and match[1] == "0":
        parts = [_("it has no machines at all")]
    elif not parts:
        parts = [_short(body.strip(" :.")) or _("it does not say why")]
    return _(
        "{lead}: {parts}. Try again in a few minutes, or choose another profile; if this stays, "
        "show these words to an administrator."
    ).format(lead=lead, parts="; ".join(parts))


def _lack(number: int, what: str) -> str:
    """Say what keeps a number of machines from taking it."""
    if found := _INSUFFICIENT.search(what):
        return ngettext(
            "{n} machine has too little {resource} left",
            "{n} machines have too little {resource} left",
            number,
        ).format(n=number, resource=found[1])
    if found := _TAINT.search(what):
        taint = f" ({found[1].strip(': ')})" if found[1] else ""
        return ngettext(
            "{n} machine has a taint{taint} that the policy does not tolerate",
            "{n} machines have a taint{taint} that the policy does not tolerate",
            number,
        ).format(n=number, taint=taint)
    known = (
        ("node affinity/selector", _("{n} have not the labels of the pool")),
        ("were unschedulable", _("{n} are closed for maintenance")),
        ("volume node affinity", _("{n} cannot mount the project's volume")),
        ("Too many pods", _("{n} are full")),
    )
    for mark, words in known:
        if mark in what:
            return words.format(n=number)
    return _short(f"{number} {what}")


def gate_words(gates: Sequence[str]) -> str:
    """Say what holds a pod back from the scheduler."""
    return _(
        "Something holds this server back before the cluster looks for a machine ({gates}). GPU "
        "Commons has given it its GPU already and sets no such gate: an administrator finds who "
        "does with `gpu-commons doctor`."
    ).format(gates=", ".join(gates) or "?")


class PullCause(NamedTuple):
    """Why an image does not come. `final`: the registry has answered, and will say the same."""

    words: str
    final: bool


def pull_cause(said: str) -> PullCause:
    """Read why an image does not come from what kubelet and registry say."""
    text = said.lower()
    rows = (
        (("invalidimagename", "invalid reference"), _("its name is no name of an image"), True),
        (("errimageneverpull",), _("the machine may not fetch it"), True),
        (("not found", "manifest unknown"), _("the registry has no such image"), True),
        (
            ("unauthorized", "denied", "forbidden", "no basic auth", "authentication required"),
            _("the registry does not give it to this project"),
            True,
        ),
        (("signature",), _("its signature was not accepted"), True),
        (("no space left",), _("the machine's disk is full"), False),
        (("toomanyrequests", "rate limit"), _("the registry asks to come back later"), False),
        (
            ("no such host", "timeout", "connection refused", "unreachable", "i/o", "deadline"),
            _("the registry does not answer"),
            False,
        ),
    )
    for marks, words, final in rows:
        if any(mark in text for mark in marks):
            return PullCause(words, final)
    return PullCause(_("the machine does not say why"), final=False)


def pull_words(cause: PullCause, image: str) -> str:
    """Say that an image does not come, and whom it takes."""
    return _(
        "The image of your project's environment does not come: {why} ({image}). Tell whoever "
        "keeps the environment, or an administrator: the pin or its pull secret must be mended."
    ).format(why=cause.words, image=image or "?")


def setup_words(message: str) -> str:
    """Say that a machine cannot set a server up."""
    if "runAsNonRoot" in message:
        return _(
            "The image of your project's environment runs as root, which no server may. Whoever "
            "keeps it gives it a numeric USER that is not 0, and pins it anew."
        )
    if "secret" in message and "not found" in message:
        return _("A secret that this server needs is not in its namespace ({said}). {who}").format(
            said=_short(message), who=_administrator()
        )
    if "Multi-Attach" in message:
        return _(
            "The project's volume is still mounted on another machine, and only one can have it at "
            "a time. Stop the other server of the project, or wait a few minutes and try again."
        )
    if "runtime" in message and ("not configured" in message or "no runtime for" in message):
        return _("The machine does not know the RuntimeClass of its pool ({said}). {who}").format(
            said=_short(message), who=_administrator()
        )
    return _("The machine cannot set this server up ({said}). {who}").format(
        said=_short(message), who=_administrator()
    )


def _administrator() -> str:
    return _("Try again once; if this stays, show these words to an administrator.")


def eviction_words(message: str) -> str:
    """Say why a machine put a server out."""
    if "low on resource: memory" in message:
        why = _(
            "the machine had too little memory left for all. What was saved is kept; start again, "
            "with a larger profile if yours needs much."
        )
    elif any(mark in message for mark in ("ephemeral", "EmptyDir", "low on resource")):
        why = _(
            "it filled more local disk than its profile allows. What is on the project's volume "
            "is kept; put large files there, or take a profile with more scratch."
        )
    else:
        why = _("the machine says: {said}. Start it again.").format(said=_short(message) or "?")
    return _("The machine put your server out: {why}").format(why=why)


def ends_words(what: str, code: int | None = None) -> str:
    """Say how a server came to its end."""
    shown = "?" if code is None else str(code)
    return _ENDS[what].format(code=shown)


_ENDS = {
    "deleted": _(
        "Somebody outside GPU Commons deleted your server in the cluster. Start it again; if it "
        "happens again, tell an administrator."
    ),
    "lost": _(
        "The machine of your server does not answer any more, so the server is taken for lost. Its "
        "GPU stays with it until the machine is back or removed; an administrator can see to that."
    ),
    "silent": _(
        "The machine of your server does not answer at the moment. If it comes back within "
        "minutes, the server goes on."
    ),
    "preempted": _(
        "The cluster itself took the machine from your server for something with a higher "
        "PriorityClass. GPU Commons announces its own stops: tell an administrator."
    ),
    "drained": _(
        "The machine of your server is shut down or emptied for maintenance. Start the server "
        "again: it comes up on another one."
    ),
    "devices": _(
        "The machine that the cluster chose has not the GPU that it counts as free. Try again; "
        "if this stays, tell an administrator that its device plugin and its GPUs differ."
    ),
    "memory": _(
        "Your server used all the memory of its profile and was stopped for that (OOM). Load less "
        "at a time, or take a profile with more memory."
    ),
    "no-server": _(
        "The image of your project's environment has no program `jupyterhub-singleuser`, so no "
        "server can run in it. Whoever keeps it installs JupyterHub and JupyterLab and pins anew."
    ),
    "crashing": _(
        "The server's program ends with code {code} each time it is started. Its image or the "
        "files in the home may be at fault: tell whoever keeps your project's environment."
    ),
    "failed": _(
        "The server ended with code {code}. Start it again; if it happens again, tell whoever "
        "keeps your project's environment."
    ),
    "ended": _("The server has ended with code {code}. Start it again."),
}


def _short(text: str) -> str:
    """Shorten what a machine said to one line."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"
