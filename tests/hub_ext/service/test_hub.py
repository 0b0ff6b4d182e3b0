import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from hub_ext.errors import UnreachableError
from hub_ext.lease import ServerKey, ServerName, UserName
from hub_ext.service.basis.hub import HubAnswer, HubClient, HubSaid, HubServer
from tests.support.small_hub import TOKEN, SmallHub

T = TypeVar("T")


def key(user: str, server: str = "") -> ServerKey:
    return ServerKey(user=UserName(user), server=ServerName(server))


def ask(hub: SmallHub, question: Callable[[HubClient], Awaitable[T]], *, token: str = TOKEN) -> T:
    async def story() -> T:
        async with hub.serving():
            client = HubClient(hub.url, token)
            try:
                return await question(client)
            finally:
                client.close()

    return asyncio.run(story())


def stop(hub: SmallHub, server: ServerKey, *, token: str = TOKEN) -> HubAnswer:
    return ask(hub, lambda client: client.stop_server(server), token=token)


def test_a_server_is_stopped_and_stopping_it_again_is_harmless() -> None:
    hub = SmallHub({"ada": {"": "ready", "second": "ready"}})
    assert stop(hub, key("ada")).said is HubSaid.stopped
    assert stop(hub, key("ada")).said is HubSaid.stopped
    assert stop(hub, key("ada", "second")).said is HubSaid.stopped
    assert hub.servers == {"ada": {"": "stopped", "second": "stopped"}}


def test_a_stop_that_takes_long_is_said_to_go_on() -> None:
    assert stop(SmallHub({"ada": {"": "slow"}}), key("ada")).said is HubSaid.stopping


def test_names_are_quoted_into_the_address() -> None:
    hub = SmallHub({"a/b@x y": {"": "ready"}})
    assert stop(hub, key("a/b@x y")).said is HubSaid.stopped
    assert hub.calls == ["DELETE /hub/api/users/a%2Fb%40x%20y/server"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, HubSaid.unknown_server),
        (400, HubSaid.busy),
        (429, HubSaid.busy),
        (401, HubSaid.forbidden),
        (403, HubSaid.forbidden),
        (302, HubSaid.away),
        (500, HubSaid.away),
        (503, HubSaid.away),
    ],
)
def test_every_status_has_a_meaning(status: int, said: HubSaid) -> None:
    answer = stop(SmallHub({"ada": {"": "ready"}}, status=status), key("ada"))
    assert answer == HubAnswer(said, status, "as told")


def test_a_hub_that_is_away_is_an_answer_when_stopping_and_unknown_when_listing() -> None:
    async def story() -> HubAnswer:
        client = HubClient("http://127.0.0.1:9/hub/api", TOKEN)
        answer = await client.stop_server(key("ada"))
        with pytest.raises(UnreachableError, match="did not answer"):
            await client.servers()
        client.close()
        return answer

    answer = asyncio.run(story())
    assert (answer.said, answer.status) == (HubSaid.away, 0)


def test_all_pages_of_active_servers_are_read() -> None:
    hub = SmallHub(
        {
            "ada": {"": "ready", "second": "spawn"},
            "ben": {"": "stopped"},
            "cleo": {"": "ready"},
            "dora": {"": "stop"},
            "eve": {"x": "ready", "y": "stopped"},
        }
    )
    assert ask(hub, HubClient.servers) == (
        HubServer(key("ada"), ready=True, pending=None),
        HubServer(key("ada", "second"), ready=False, pending="spawn"),
        HubServer(key("cleo"), ready=True, pending=None),
        HubServer(key("dora"), ready=False, pending="stop"),
        HubServer(key("eve", "x"), ready=True, pending=None),
    )
    assert hub.calls.count("GET /hub/api/users") == 2


def test_somebody_who_slips_between_pages_is_found_by_a_look_of_their_own() -> None:
    hub = SmallHub({name: {"": "ready"} for name in ("ada", "ben", "cleo", "dora")})

    def stops(_offset: int) -> None:
        hub.servers["ada"][""] = "stopped"

    hub.on_page = stops
    listed = {server.key.user for server in ask(hub, HubClient.servers)}
    assert "cleo" not in listed
    assert ask(hub, lambda client: client.server(key("cleo"))) is not None
    assert ask(hub, lambda client: client.server(key("ada"))) is None
    assert ask(hub, lambda client: client.server(key("nobody"))) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"<html>",
        b"{}",
        b'{"items": {}, "_pagination": {}}',
        b'{"items": [{"name": "ada"}], "_pagination": {"next": null}}',
        b'{"items": [], "_pagination": {"next": {"offset": 0}}}',
        b'{"items": [], "_pagination": {"next": 7}}',
    ],
)
def test_an_answer_that_says_nothing_of_servers_is_not_taken_for_an_empty_hub(
    body: bytes,
) -> None:
    with pytest.raises(UnreachableError):
        ask(SmallHub(body=body), HubClient.servers)
    with pytest.raises(UnreachableError):
        ask(SmallHub(body=body), lambda client: client.server(key("ada")))


def test_a_token_that_may_not_look_is_no_empty_hub() -> None:
    with pytest.raises(UnreachableError, match="403"):
        ask(SmallHub({"ada": {"": "ready"}}), HubClient.servers, token="other")


def test_a_server_is_started_with_its_options_and_a_second_start_says_so() -> None:
    hub = SmallHub({"ada": {"": "stopped", "slow": "spawn"}})
    options = {"profile": "one", "wait": "start"}

    async def story(client: HubClient) -> list[HubAnswer]:
        return [
            await client.start_server(key("ada", server), options) for server in ("", "", "slow")
        ]

    said = [answer.said for answer in ask(hub, story)]
    assert said == [HubSaid.started, HubSaid.busy, HubSaid.pending]
    assert hub.started[0] == ("ada", "", options)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, HubSaid.unknown_server),
        (403, HubSaid.forbidden),
        (409, HubSaid.busy),
        (429, HubSaid.busy),
        (500, HubSaid.away),
    ],
)
def test_every_status_of_a_start_is_an_answer(status: int, said: HubSaid) -> None:
    hub = SmallHub({"ada": {}}, status=status, retry_after="7" if status == 429 else "")
    answer = ask(hub, lambda client: client.start_server(key("ada"), {}))
    assert (answer.said, answer.status) == (said, status)
    assert answer.retry_after_s == (7 if status == 429 else None)


def test_a_hub_that_is_away_is_an_answer_to_a_start_too() -> None:
    async def story() -> HubAnswer:
        client = HubClient("http://127.0.0.1:1/hub/api", TOKEN)
        try:
            return await client.start_server(key("ada"), {})
        finally:
            client.close()

    assert asyncio.run(story()).said is HubSaid.away


def test_a_deleted_server_or_person_is_not_there_and_a_stopped_one_is() -> None:
    hub = SmallHub({"ada": {"mine": "stopped"}})

    def there(server: ServerKey) -> bool:
        return ask(hub, lambda client: client.has_server(server))

    assert there(key("ada"))
    assert there(key("ada", "mine"))
    assert not there(key("ada", "other"))
    assert not there(key("bob"))
    hub.status = 500
    assert there(key("bob"))
