"""A tag is looked up at a real registry; what does not add up is refused, and no secret leaks."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from hub_ext.errors import GpuCommonsError, UnreachableError
from hub_ext.images.credentials import Credentials, credentials_in
from hub_ext.images.references import reference
from hub_ext.images.registry import Inspected, Registries, _may_be_asked, base_url
from tests.support.registry import MANIFEST, NAME, PASSWORD, RealRegistry

ENV = ["PATH=/usr/bin", "PYTHON_VERSION=3.12.4", "CUDA_VERSION=12.4.1", "PYTORCH_VERSION=2.9.1"]
NOBODY = Credentials({})


@pytest.fixture(scope="module")
def registry() -> Iterator[RealRegistry]:
    with RealRegistry.running() as made:
        yield made


def inspect(image: str, who: Credentials = NOBODY, platform: str = "linux/amd64") -> Inspected:
    async def ask() -> Inspected:
        async with Registries(who, platform=platform) as registries:
            return await registries.inspect(reference(image))

    return asyncio.run(ask())


def test_a_tag_becomes_a_digest_and_what_the_image_says_it_holds(registry: RealRegistry) -> None:
    digest = registry.push("team/torch", "2026.11", ENV)
    found = inspect(f"{registry.host}/team/torch:2026.11")
    assert found.digest == digest
    assert found.image == f"{registry.host}/team/torch"
    assert found.contents.model_dump() == {
        "python": "3.12.4",
        "framework": "pytorch 2.9.1",
        "cuda": "12.4.1",
    }


def test_of_an_image_for_several_platforms_the_index_is_pinned(registry: RealRegistry) -> None:
    other = ["CUDA_VERSION=13.0.0"]
    digest = registry.push_index("team/both", "1", {"linux/amd64": ENV, "linux/arm64": other})
    image = f"{registry.host}/team/both:1"
    assert inspect(image).digest == digest
    assert inspect(image).contents.cuda == "12.4.1"
    assert inspect(image, platform="linux/arm64").contents.cuda == "13.0.0"
    with pytest.raises(GpuCommonsError, match="no image for linux/riscv64; it has linux/amd64"):
        inspect(image, platform="linux/riscv64")


def test_what_is_not_there_is_said(registry: RealRegistry) -> None:
    registry.push("team/torch", "1", ENV)
    with pytest.raises(GpuCommonsError, match=r"there is no .*team/torch:2; look at its spelling"):
        inspect(f"{registry.host}/team/torch:2")
    with pytest.raises(GpuCommonsError, match="there is no"):
        inspect(f"{registry.host}/team/nothing:1")


def test_a_registry_that_is_away_is_named() -> None:
    with pytest.raises(UnreachableError, match=r"registry 127\.0\.0\.1:1 does not answer"):
        inspect("127.0.0.1:1/team/torch:1")


def test_a_password_is_used_where_one_is_asked_for(tmp_path: Path) -> None:
    with RealRegistry.running(secret=True) as registry:
        digest = registry.push("team/torch", "1", ENV)
        image = f"{registry.host}/team/torch:1"
        with pytest.raises(GpuCommonsError, match=r"does not let us see .* --credentials"):
            inspect(image)
        with pytest.raises(GpuCommonsError, match="does not let us see") as wrong:
            inspect(image, Credentials({registry.host: (NAME, "not-the-one")}))
        assert "not-the-one" not in str(wrong.value)
        file = tmp_path / "config.json"
        entry = {"username": NAME, "password": PASSWORD}
        file.write_text(json.dumps({"auths": {f"http://{registry.host}/v1/": entry}}))
        assert inspect(image, credentials_in(file)).digest == digest


# -- registries that behave as none should -------------------------------------------------


class Answers(RequestHandler):
    """Answers each path as the story says, and remembers who asked with what."""

    def initialize(self, told: dict[str, Any], seen: list[tuple[str, str]]) -> None:
        self.told, self.seen = told, seen

    def get(self, path: str) -> None:
        self.seen.append((path, self.request.headers.get("Authorization", "")))
        status, headers, body = self.told[path](self.request)
        self.set_status(status)
        for name, value in headers.items():
            self.set_header(name, value)
        self.write(body)


Story = Callable[[int, dict[str, Any], list[tuple[str, str]]], Awaitable[None]]


def tell(story: Story) -> None:
    async def both() -> None:
        told: dict[str, Any] = {}
        seen: list[tuple[str, str]] = []
        listening, port = bind_unused_port()
        server = HTTPServer(Application([("/(.*)", Answers, {"told": told, "seen": seen})]))
        server.add_socket(listening)
        try:
            await story(port, told, seen)
        finally:
            server.stop()
            await server.close_all_connections()

    asyncio.run(both())


def body_of(value: Any) -> bytes:
    return json.dumps(value).encode()


def sum_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


CONFIG = body_of({"config": {"Env": ENV}})
IMAGE = body_of({"mediaType": MANIFEST, "config": {"digest": sum_of(CONFIG)}})


def always(status: int, body: bytes, **headers: str) -> Callable[[Any], Any]:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _request: (status, given, body)


def test_a_token_is_fetched_with_the_password_and_used_for_that_registry_alone() -> None:
    async def story(port: int, told: dict[str, Any], seen: list[tuple[str, str]]) -> None:
        host = f"127.0.0.1:{port}"
        challenge = f'Bearer realm="http://{host}/token",service="images",scope="x"'

        def guarded(request: Any) -> Any:
            if request.headers.get("Authorization") != "Bearer t-1":
                return 401, {"WWW-Authenticate": challenge}, b"{}"
            return 200, {}, IMAGE

        elsewhere = f"http://localhost:{port}/stored"
        told["token"] = always(200, body_of({"token": "t-1"}))
        told["v2/team/torch/manifests/1"] = guarded
        told[f"v2/team/torch/blobs/{sum_of(CONFIG)}"] = always(307, b"", Location=elsewhere)
        told["stored"] = always(200, CONFIG)
        async with Registries(Credentials({host: ("ann", "secret")})) as registries:
            found = await registries.inspect(reference(f"{host}/team/torch:1"))
        assert found.digest == sum_of(IMAGE)
        assert found.contents.cuda == "12.4.1"
        used = dict(seen)
        assert used["token"].startswith("Basic ")
        assert used[f"v2/team/torch/blobs/{sum_of(CONFIG)}"] == "Bearer t-1"
        assert used["stored"] == "", "the token went where the blob lies"

    tell(story)


def test_a_realm_or_a_blob_over_plain_http_elsewhere_gets_nothing() -> None:
    async def story(port: int, told: dict[str, Any], _seen: list[tuple[str, str]]) -> None:
        host = f"127.0.0.1:{port}"
        realm = 'Bearer realm="http://registry.example/token"'
        told["v2/team/torch/manifests/1"] = always(401, b"{}", WWW_Authenticate=realm)
        async with Registries(Credentials({host: ("ann", "secret")})) as registries:
            with pytest.raises(UnreachableError, match="not answer as a registry"):
                await registries.digest(reference(f"{host}/team/torch:1"))
            told["v2/team/torch/manifests/1"] = always(
                307, b"", Location="http://registry.example/x"
            )
            with pytest.raises(UnreachableError, match="not answer as a registry"):
                await registries.digest(reference(f"{host}/team/torch:1"))

    tell(story)


def test_no_hop_behind_another_host_is_shown_the_password() -> None:
    async def story(port: int, told: dict[str, Any], seen: list[tuple[str, str]]) -> None:
        host, elsewhere = f"127.0.0.1:{port}", f"http://localhost:{port}"
        asks = {"WWW-Authenticate": 'Basic realm="x"'}

        def guarded(request: Any) -> Any:
            if "Authorization" not in request.headers:
                return 401, asks, b"{}"
            return 307, {"Location": f"{elsewhere}/first"}, b""

        told["v2/team/torch/manifests/1"] = guarded
        told["first"] = always(307, b"", Location=f"{elsewhere}/second")
        told["second"] = always(200, IMAGE)
        async with Registries(Credentials({host: ("ann", "secret")})) as registries:
            assert await registries.digest(reference(f"{host}/team/torch:1")) == sum_of(IMAGE)
        assert dict(seen)["first"] == ""
        assert dict(seen)["second"] == "", "it went behind the first hop"

    tell(story)


@pytest.mark.parametrize(
    "challenge",
    [
        "Bearer realm=",
        "Bearer realm",
        'Bearer realm="http://["',
        'Bearer realm="https://x", y',
        "?",
    ],
)
def test_a_challenge_that_is_none_is_no_registrys(challenge: str) -> None:
    async def story(port: int, told: dict[str, Any], _seen: list[tuple[str, str]]) -> None:
        told["v2/team/torch/manifests/1"] = always(401, b"{}", WWW_Authenticate=challenge)
        async with Registries(NOBODY) as registries:
            with pytest.raises(UnreachableError, match="does not answer as a registry does"):
                await registries.digest(reference(f"127.0.0.1:{port}/team/torch:1"))

    tell(story)


def test_a_registry_far_away_may_not_send_us_to_services_of_this_machine() -> None:
    far, near = reference("registry.example/a:1"), reference("localhost:5000/a:1")
    for url in ("http://127.0.0.1:8001/", "https://localhost/", "http://[::1]/"):
        assert not _may_be_asked(far, url)
        assert _may_be_asked(near, url)
    assert _may_be_asked(far, "https://blobs.example/x")
    assert not _may_be_asked(far, "http://blobs.example/x")
    assert not _may_be_asked(near, "file://localhost/etc/passwd")


@pytest.mark.parametrize(
    ("manifest", "headers", "words"),
    [
        (IMAGE, {"Docker_Content_Digest": f"sha256:{'0' * 64}"}, "not what its digest says"),
        (b"<html>", {}, "does not answer as a registry does"),
        (b"[]", {}, "does not answer as a registry does"),
        (b"[" * 200_000, {}, "does not answer as a registry does"),
        (body_of({"config": {"digest": "sha256:1"}}), {}, "does not answer as a registry does"),
        (body_of({"manifests": [{"platform": "linux"}, 7]}), {}, "no image for linux/amd64"),
    ],
)
def test_nonsense_pins_nothing(manifest: bytes, headers: dict[str, str], words: str) -> None:
    async def story(port: int, told: dict[str, Any], _seen: list[tuple[str, str]]) -> None:
        told["v2/team/torch/manifests/1"] = always(200, manifest, **headers)
        async with Registries(NOBODY) as registries:
            with pytest.raises(GpuCommonsError, match=words):
                await registries.inspect(reference(f"127.0.0.1:{port}/team/torch:1"))

    tell(story)


def test_a_changed_configuration_is_not_believed() -> None:
    async def story(port: int, told: dict[str, Any], _seen: list[tuple[str, str]]) -> None:
        told["v2/team/torch/manifests/1"] = always(200, IMAGE)
        told[f"v2/team/torch/blobs/{sum_of(CONFIG)}"] = always(200, b'{"config": {}}')
        async with Registries(NOBODY) as registries:
            with pytest.raises(GpuCommonsError, match="not what its digest says"):
                await registries.inspect(reference(f"127.0.0.1:{port}/team/torch:1"))

    tell(story)


def test_only_a_registry_on_this_machine_is_asked_in_the_clear() -> None:
    assert base_url("registry.example:5000") == "https://registry.example:5000"
    assert base_url("localhost:5000") == "http://localhost:5000"
    assert base_url("127.0.0.9:5000") == "http://127.0.0.9:5000"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("team/torch:1", "names no registry"),
        ("registry.example/team/torch", "has no tag"),
        ("registry.example:5000/team/torch", "has no tag"),
        ("registry.example/team/Torch:1", "is no image"),
        ("registry.example/team/torch:la test", "is no image"),
        ("registry.example/../x:1", "is no image"),
        (f"registry.example/team/torch@sha256:{'a' * 64}", "has a digest already"),
        ("registry.example/team/torch:1\n", "is no image"),
    ],
)
def test_what_is_no_image_is_said(text: str, words: str) -> None:
    with pytest.raises(GpuCommonsError, match=words):
        reference(text)


def test_a_credentials_file_that_is_none_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    for text in ('{"auths": {"a.example": {"auth": "geheim!"}}}', "geheim", '{"auths": 7}', "[]"):
        file.write_text(text)
        with pytest.raises(GpuCommonsError, match="no credentials file") as refused:
            credentials_in(file)
        assert "geheim" not in str(refused.value)
        assert refused.value.__cause__ is None
    with pytest.raises(GpuCommonsError, match="cannot be read"):
        credentials_in(tmp_path / "none.json")
    file.write_text('{"auths": {"a.example": {"auth": "YW5uOnB3", "registrytoken": "t"}}}')
    assert credentials_in(file).of("a.example") == ("ann", "pw"), "what others write is passed over"
    assert "secret" not in repr(Credentials({"a.example": ("ann", "secret")}))
