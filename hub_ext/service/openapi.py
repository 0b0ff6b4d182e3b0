"""The API's own description, OpenAPI 3.1, made of the routes' table and the pydantic values."""

import re
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .. import __version__
from ..i18n import _
from ..lease import Problem
from .api.route import Query, Route
from .api.routes import API, OPEN_ROUTES, ROUTES
from .http.web import OpenHandler

_REF = "#/components/schemas/{model}"
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")

Json = dict[str, Any]


def document(prefix: str) -> Json:
    """Describe the API as it is served below `prefix`."""
    placed = [(f"/{API}{route.path}", route) for route in ROUTES]
    placed += [(f"/{route.path}", route) for route in OPEN_ROUTES]
    paths: dict[str, Json] = {}
    for path, route in placed:
        paths.setdefault(path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": _("GPU Commons governor"),
            "version": __version__,
            "description": _(
                "Tokens of the hub go into the header `Authorization: token …`. Every error is a "
                "problem of RFC 9457 with the members code, figures and retry_after_s."
            ),
        },
        "servers": [{"url": prefix.rstrip("/") or "/"}],
        "security": [{"hub": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas([route for _path, route in placed]),
            "securitySchemes": {
                "hub": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": _("`token` and a token of the hub"),
                }
            },
        },
    }


def _schemas(routes: list[Route]) -> Json:
    shapes: list[type[BaseModel]] = [Problem]
    shapes += [shape for route in routes for shape in (route.takes, route.gives) if shape]
    modes = [(shape, "validation") for shape in dict.fromkeys(shapes)]
    _map, schema = models_json_schema(modes, ref_template=_REF)  # type: ignore[arg-type]  # a plain str where a Literal is typed
    definitions: Json = schema["$defs"]
    return definitions


def _operation(route: Route) -> Json:
    success: Json = {"description": _("As asked")}
    if route.gives is not None:
        success["content"] = {"application/json": {"schema": _ref(route.gives)}}
    operation: Json = {
        "operationId": f"{route.method.lower()} {route.path}",
        "summary": route.words,
        "description": _("May be called by: {who}.").format(who=route.who),
        "parameters": [
            *({**_parameter(name), "in": "path"} for name in _PATH_PARAMETER.findall(route.path)),
            *(_query(query) for query in route.queries),
        ],
        "responses": {
            str(route.status): success,
            "default": {
                "description": _("A refusal or an error"),
                "content": {"application/problem+json": {"schema": _ref(Problem)}},
            },
        },
    }
    if route.takes is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _ref(route.takes)}},
        }
    if route in OPEN_ROUTES:
        operation["security"] = []
    return operation


def _ref(shape: type[BaseModel]) -> Json:
    return {"$ref": _REF.format(model=shape.__name__)}


def _parameter(name: str) -> Json:
    return {"name": name, "required": True, "schema": {"type": "string"}}


def _query(query: Query) -> Json:
    one: Json = {"type": query.type}
    schema = {"type": "array", "items": one} if query.many else one
    return {
        "name": query.name,
        "in": "query",
        "required": False,
        "description": query.words,
        "schema": schema,
    }


class OpenApiHandler(OpenHandler):
    """`GET /openapi.json`."""

    async def get(self) -> None:
        """Send the document."""
        self.finish(document(self.hub_auth.base_url))
