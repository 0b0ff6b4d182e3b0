"""Makes the pages of the reference that are read from the code; `make reference` writes them.

With `--check` nothing is written: what differs is named, and the exit status is 1.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

from hub_ext.cli import COMMANDS
from hub_ext.policy.reference import reference_text
from hub_ext.policy.schema import schema_text
from hub_ext.service.reference import page
from tests.support.spoken import empty_states, spoken

ROOT = Path(__file__).parents[2]
_WIDTH = 10_000
"""Columns for argparse: the page breaks lines, not the program."""

_COMMANDS = """\
# Commands

<!-- Made from the code by `make reference`. Do not edit. -->

`gpu-commons COMMAND --help` says the same. A command exits with 0 when all is well, 1 with findings
or a refusal in words, 2 when it was typed wrong.
"""

_WORDS = """\
# Words

<!-- Made from the code by `make reference`. Do not edit. -->

What the product may answer: by its code, which stays the same in every language and stands in the
`type` of an error of the [API](governor-api.md), and with the words that people read. `{…}` is
filled in; sentences that belong to one code are listed together, whether they are said at once or
in different cases.

## Refusals, reasons and notices
"""

_EMPTY = """\
## Where there is nothing to show

| page | words |
|---|---|
"""


def commands_page() -> str:
    """Every subcommand with its arguments, as its own parser declares them."""
    return "\n".join([_COMMANDS, *(_command(name) for name in COMMANDS)])


def _command(name: str) -> str:
    parser = argparse.ArgumentParser(
        prog=f"gpu-commons {name}",
        add_help=False,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=_WIDTH),
    )
    import_module(f"hub_ext.commands.{name}").add_arguments(parser)
    said = COMMANDS[name]
    return "\n".join([f"## {name}", "", f"{said[0].upper()}{said[1:]}.", "", *_usage(parser)])


def _usage(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from ("```text", parser.format_usage().removeprefix("usage: ").strip(), "```", "")
    below: list[argparse.ArgumentParser] = []
    for action in parser._actions:
        match action:
            case argparse._SubParsersAction():
                below += dict.fromkeys(action.choices.values())
            case argparse._HelpAction():
                pass
            case _:
                yield f"`{_called(action)}`"
                yield f": {_meaning(action)}"
                yield ""
    for one in below:
        one.formatter_class = parser.formatter_class
        yield from (f"### {one.prog.removeprefix('gpu-commons ')}", "")
        if one.description:
            yield from (one.description, "")
        yield from _usage(one)


def _called(action: argparse.Action) -> str:
    value = action.metavar or (
        "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
    )
    shown = value if isinstance(value, str) else " ".join(value)
    if not action.option_strings:
        return shown
    return f"{', '.join(action.option_strings)}{'' if action.nargs == 0 else ' ' + shown}"


def _meaning(action: argparse.Action) -> str:
    words = (action.help or "").replace("%%", "%")
    if "%(default)s" in words:
        words = words.replace("%(default)s", str(action.default))
    return words or "Needed as it is called."


def words_page() -> str:
    """Every refusal, reason, notice and empty state."""
    lines = [_WORDS]
    for one in spoken(ROOT):
        lines += [f"`{one.code}`", f": {_plain(one.words[0])}"]
        for words in one.words[1:]:
            lines += ["", f"  {_plain(words)}"]
        lines.append("")
    lines.append(_EMPTY.rstrip("\n"))
    lines += [
        f"| {page} | {_plain(words)} |"
        for page, all_of_it in empty_states(ROOT).items()
        for words in all_of_it
    ]
    return "\n".join(lines) + "\n"


def _plain(words: str) -> str:
    """Words as text of a page: nothing in them is markup."""
    for sign in "\\`*_[]<>|$":
        words = words.replace(sign, f"\\{sign}")
    return words.strip().replace("\n", " ")


PAGES: dict[str, Callable[[], str]] = {
    "config/policy.schema.json": schema_text,
    "docs/reference/policy.md": reference_text,
    "docs/reference/governor-api.md": partial(page, "api"),
    "docs/reference/governor-settings.md": partial(page, "settings"),
    "docs/reference/commands.md": commands_page,
    "docs/reference/words.md": words_page,
}
"""File -> what makes its text."""


def main(words: list[str]) -> int:
    """Write what differs from the code, or only name it."""
    stale = [
        path
        for path, made in PAGES.items()
        if not (ROOT / path).exists() or (ROOT / path).read_text("utf-8") != made()
    ]
    for path in stale:
        print(path)
        if "--check" not in words:
            (ROOT / path).write_text(PAGES[path](), "utf-8")
    return int(bool(stale) and "--check" in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
