"""One operation of the API as the server mounts it and as openapi.json tells it."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from ..http.web import BaseHandler


@dataclass(frozen=True)
class Query:
    """One query argument."""

    name: str
    words: str
    type: Literal["string", "integer"] = "string"
    many: bool = False


@dataclass(frozen=True)
class Route:
    """One operation. `who` says in words whose tokens may call it."""

    method: Literal["GET", "POST"]
    path: str
    handler: type[BaseHandler]
    words: str
    who: str
    takes: type[BaseModel] | None = None
    gives: type[BaseModel] | None = None
    status: int = 200
    queries: tuple[Query, ...] = ()
