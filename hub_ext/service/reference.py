"""The reference pages of the governor, made from its settings and its table of routes.

Text alone; nothing runs. `gpu-commons governor --print` shows them.
"""

import json
from collections.abc import Iterator

from .api.route import Route
from .api.routes import API, OPEN_ROUTES, ROUTES
from .books.config import ENVIRONMENT_PREFIX, GovernorConfig
from .openapi import document

PAGES = ("settings", "api", "openapi")
PREFIX = "/services/gpu-commons/"

_EDIT = "<!-- Made from the code by `gpu-commons governor --print {page}`. Do not edit. -->"

_SETTINGS = """\
# Settings of the governor

{edit}

How the governor's process runs; rules that people agree on are in [the policy](policy.md).
Each setting is a variable in its environment, which `configure(settings={{…}})` sets, or a line
`c.GovernorConfig.NAME = …` in the file that `gpu-commons governor --config FILE` reads; the file
wins. A value that cannot be read stops the start and names its variable.
"""

_API = """\
# The governor's API

{edit}

Below `{prefix}{api}` of the hub's address; `{prefix}openapi.json` is the same for programs. Calls
carry a token of the hub in the header `Authorization: token …`. Who may not know of a lease hears
the same as where there is none (404). Every error is a problem of RFC 9457
(`application/problem+json`) with the members `code`, `figures` and `retry_after_s`; a refusal says
what is, why, and what to do next.
"""


def page(name: str) -> str:
    """Make one of `PAGES`."""
    match name:
        case "settings":
            return "\n".join(_settings())
        case "api":
            return "\n".join(_api())
        case _:
            return json.dumps(document(PREFIX), indent=2) + "\n"


def _settings() -> Iterator[str]:
    yield _SETTINGS.format(edit=_EDIT.format(page="settings"))
    for name, trait in GovernorConfig.class_traits(config=True).items():
        words = [line.strip() for line in trait.help.splitlines() if line.strip()]
        yield f"`{name}` (`{ENVIRONMENT_PREFIX}{name.upper()}`)"
        yield f": {' '.join(words)}\n"


def _api() -> Iterator[str]:
    yield _API.format(edit=_EDIT.format(page="api"), prefix=PREFIX, api=API)
    for route in ROUTES:
        yield from _route(route, route.path)
    yield f"Beside it, at `{PREFIX}`:\n"
    for route in OPEN_ROUTES:
        yield from _route(route, route.path)


def _route(route: Route, path: str) -> Iterator[str]:
    yield f"`{route.method} {path}`"
    yield f": {route.words}."
    yield f"  For: {route.who}."
    takes = f"  Takes `{route.takes.__name__}`, answers" if route.takes else "  Answers"
    gives = f" with `{route.gives.__name__}`" if route.gives else ""
    yield f"{takes} {route.status}{gives}."
    for query in route.queries:
        yield f"  `{query.name}`: {query.words}."
    yield ""
