"""A small client of the API server for tests: plain JSON in and out, as whoever is asked for.

The product talks through `kubernetes_asyncio`; this one shows what the server itself says.
"""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Manifest = dict[str, Any]
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
FIELD_MANAGER = "tests"
LOOK_S = 0.03
PATIENCE_S = 20.0


class ApiError(Exception):
    """The API server refused; `code` is HTTP's, `reason` and the text are its own."""

    def __init__(self, what: str, code: int, answer: Mapping[str, Any]) -> None:
        super().__init__(f"{what}: {code} {answer.get('message', '')}")
        self.code = code
        self.reason: str = answer.get("reason", "")
        self.answer = answer


@dataclass(frozen=True)
class Api:
    """One API server, and who asks it.

    Attributes
    ----------
    impersonated
        Name of the user on whose behalf an administrator asks, or nothing.
    """

    url: str
    authority: Path
    token: str = field(repr=False)
    impersonated: str = ""

    def acting_as(self, user: str) -> "Api":
        """Ask as another user, for example `system:serviceaccount:NAMESPACE:NAME`."""
        return replace(self, impersonated=user)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = "application/json",
        **query: str,
    ) -> Manifest:
        """Ask, again while the server says that it is not ready for it, and return the answer.

        Raises
        ------
        ApiError
            If the server refuses.
        OSError
            If it cannot be reached.
        """
        until = time.monotonic() + PATIENCE_S
        full = f"{path}?{urlencode(query)}" if query else path
        while True:
            code, answer = self._once(method, full, body, content)
            if code < http.client.BAD_REQUEST:
                return answer
            # A server that just began answers so for kinds that it still learns about.
            if code != http.client.TOO_MANY_REQUESTS or time.monotonic() > until:
                raise ApiError(f"{method} {full}", code, answer)
            time.sleep(LOOK_S)

    def _once(self, method: str, full: str, body: object, content: str) -> tuple[int, Manifest]:
        place = urlsplit(self.url)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content}
        if self.impersonated:
            headers["Impersonate-User"] = self.impersonated
        context = ssl.create_default_context(cafile=self.authority)
        connection = http.client.HTTPSConnection(
            place.hostname or "", place.port, timeout=60, context=context
        )
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, full, body=text, headers=headers)
            answer = connection.getresponse()
            said = answer.read().decode()
        finally:
            connection.close()
        whole: Manifest = json.loads(said) if said[:1] == "{" else {"message": said}
        return answer.status, whole

    def get(self, path: str, **query: str) -> Manifest:
        """Read an object or a list."""
        return self.call("GET", path, **query)

    def items(self, path: str, **query: str) -> list[Manifest]:
        """Read the objects of a list."""
        found: list[Manifest] = self.get(path, **query)["items"]
        return found

    def find(self, path: str) -> Manifest | None:
        """Read an object that may be absent."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.code == http.client.NOT_FOUND:
                return None
            raise

    def create(self, path: str, body: Manifest, **query: str) -> Manifest:
        """Create an object in a collection."""
        return self.call("POST", path, body, **query)

    def patch(self, path: str, body: object, *, content: str = MERGE, **query: str) -> Manifest:
        """Change some fields of an object."""
        return self.call("PATCH", path, body, content=content, **query)

    def delete(self, path: str, **query: str) -> None:
        """Delete an object; one that is absent already is fine."""
        try:
            self.call("DELETE", path, **query)
        except ApiError as error:
            if error.code != http.client.NOT_FOUND:
                raise

    def apply(self, objects: Iterable[Manifest], **query: str) -> list[Manifest]:
        """Apply objects on the server's side, in the order given; `dryRun="All"` only tries."""
        chosen = {"fieldManager": FIELD_MANAGER, "force": "true", **query}
        return [self.patch(object_path(one), one, content=APPLY, **chosen) for one in objects]

    def wait(
        self, path: str, when: Callable[[Manifest], object], *, seconds: float = 30
    ) -> Manifest:
        """Read an object until something is true of it, and return it.

        Raises
        ------
        AssertionError
            If it does not come true in time, with the object as it is.
        """
        until = time.monotonic() + seconds
        while True:
            found = self.find(path)
            if found is not None and when(found):
                return found
            if time.monotonic() > until:
                raise AssertionError(f"not so after {seconds} s: {json.dumps(found, indent=1)}")
            time.sleep(LOOK_S)

    def wait_gone(self, path: str, *, seconds: float = 30) -> None:
        """Wait until an object is gone."""
        until = time.monotonic() + seconds
        while (found := self.find(path)) is not None:
            if time.monotonic() > until:
                raise AssertionError(f"there after {seconds} s: {json.dumps(found, indent=1)}")
            time.sleep(LOOK_S)


_CLUSTER_WIDE = {
    "APIService",
    "ClusterQueue",
    "ClusterRole",
    "ClusterRoleBinding",
    "Cohort",
    "CustomResourceDefinition",
    "DeviceClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "ResourceFlavor",
    "ResourceSlice",
    "RuntimeClass",
    "StorageClass",
    "Topology",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "WorkloadPriorityClass",
}


def object_path(manifest: Manifest) -> str:
    """Address of an object, from what it says of itself."""
    version, kind, meta = manifest["apiVersion"], manifest["kind"], manifest["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = _plural(kind.lower())
    if kind in _CLUSTER_WIDE:
        return f"{root}/{plural}/{meta['name']}"
    return f"{root}/namespaces/{meta.get('namespace', 'default')}/{plural}/{meta['name']}"


def _plural(word: str) -> str:
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"
