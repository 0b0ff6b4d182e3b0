"""`gpu-commons init`: writes a first policy from what is there, with every guess marked.

It runs nothing of the hub's configuration and changes nothing but the file that it makes.
"""

import argparse
import sys
from pathlib import Path

from ...errors import GpuCommonsError, UnreachableError
from ...i18n import _, ngettext
from ...policy.load import loads
from .draft import Sources, draft
from .found import Wish, cards, groups, token_of, wish
from .profile_list import listed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where to look and where to write."""
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help=_("file to make (default: standard output)")
    )
    parser.add_argument(
        "--devices",
        choices=["auto", "nvml", "simulated"],
        default="auto",
        help=_("where GPUs come from: NVML, simulated, or whichever is there (default)"),
    )
    parser.add_argument(
        "--hub",
        metavar="URL",
        help=_("the hub's API, for its groups: http://127.0.0.1:8081/hub/api"),
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help=_("file with a token of scope list:groups")
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help=_("jupyterhub_config.py whose profile_list is read; none of it is run"),
    )


def run(args: argparse.Namespace) -> int:
    """Write the policy and say how much is left to check.

    Raises
    ------
    GpuCommonsError
        When the file is there already, or what was named cannot be read.
    """
    if args.output is not None and args.output.exists():
        raise GpuCommonsError(
            _("{path} is there already; name another file").format(path=args.output)
        )
    text = draft(_sources(args))
    loads(text)
    left = text.count("# CHECK:")
    if args.output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        _make(args.output, text)
    sys.stderr.write(
        ngettext("{n} place is left to CHECK\n", "{n} places are left to CHECK\n", left).format(
            n=left
        )
    )
    return 0


def _sources(args: argparse.Namespace) -> Sources:
    found, words = cards(args.devices)
    people, people_words = _groups(args.hub, args.token_file)
    wishes, wishes_words = _wishes(args.config)
    return Sources(found, words, people, people_words, wishes, wishes_words)


def _groups(hub: str | None, file: Path | None) -> tuple[tuple[str, ...], str]:
    if hub is None and file is None:
        return (), _("no hub was asked; write the groups of your hub")
    if hub is None or file is None:
        raise GpuCommonsError(_("the hub's groups need both --hub and --token-file"))
    if not hub.startswith(("http://", "https://")):
        raise UnreachableError(_("{url} is no address of a hub's API").format(url=repr(hub)))
    names = groups(hub, token_of(file))
    return names, _("the hub has no group; make some and write them here")


def _wishes(config: Path | None) -> tuple[tuple[Wish, ...], tuple[str, ...]]:
    if config is None:
        return (), ()
    found = listed(config)
    words = tuple(
        _("line {line} of {file} computes profiles; they were not read").format(
            line=line, file=config.name
        )
        for line in found.computed
    )
    if not found.entries and not words:
        words = (_("{file} has no profile_list; these are guesses").format(file=config.name),)
    return tuple(wish(entry) for entry in found.entries), words


def _make(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise GpuCommonsError(
            _("{path} cannot be written: {error}").format(path=path, error=error.strerror)
        ) from error
