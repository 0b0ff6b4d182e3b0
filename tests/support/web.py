"""Speaks HTTP as a script or as a person with cookies; every status is an answer, none raises."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import quote, urlencode, urljoin

WAIT_S = 60.0
"""A hub may hold an answer for its slow limits; a test never waits longer for one."""


@dataclass(frozen=True)
class Answer:
    """What came back; status 0 means that nothing did."""

    status: int
    text: str
    url: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        """The body as JSON; fails the test with the body where it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            raise AssertionError(f"{self.url} answered {self.status}: {self.text[:500]}") from None


def call(
    method: str,
    url: str,
    *,
    token: str | None = None,
    body: object = None,
    opener: urllib.request.OpenerDirector | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Make one request. `body` is sent as JSON, or as it is where it is bytes."""
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(url, method=method, data=data, headers=headers or {})
    if token:
        request.add_header("Authorization", f"token {token}")
    if data is not None and not request.has_header("Content-type"):
        request.add_header("Content-Type", "application/json")
    opener = opener or urllib.request.build_opener()
    try:
        with opener.open(request, timeout=WAIT_S) as response:
            return _answer(response)
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error)
    except (OSError, HTTPException) as error:
        return Answer(0, str(error), url, {})


def _answer(response: Any) -> Answer:
    text = response.read().decode("utf-8", "replace")
    return Answer(response.status, text, response.url, dict(response.headers))


class Person:
    """Somebody with a browser that keeps cookies and runs no JavaScript."""

    def __init__(self, url: str, name: str) -> None:
        self.url = url.rstrip("/")
        self.name = name
        self._jar = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))

    def get(self, path: str) -> Answer:
        """Open a page, following redirects, OAuth included."""
        return call("GET", urljoin(self.url, path), opener=self._opener)

    def log_in(self, password: str = "") -> Answer:
        """Log in with the hub's form."""
        self.get("/hub/login")
        return self.post_form("/hub/login", {"username": self.name, "password": password})

    def post_form(self, path: str, fields: dict[str, str]) -> Answer:
        """Send a form as the page at `path` would."""
        data = urlencode({**fields, "_xsrf": self._xsrf(path)}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        url = urljoin(self.url, path)
        return call("POST", url, body=data, opener=self._opener, headers=headers)

    def spawn(self, fields: dict[str, str], server: str = "") -> Answer:
        """Send the spawn form."""
        path = f"/hub/spawn/{quote(self.name)}" + (f"/{quote(server)}" if server else "")
        self.get(path)
        return self.post_form(path, fields)

    def _xsrf(self, path: str) -> str:
        fitting = [c for c in self._jar if c.name == "_xsrf" and path.startswith(c.path)]
        longest = max(fitting, key=lambda cookie: len(cookie.path), default=None)
        return (longest.value or "") if longest else ""
