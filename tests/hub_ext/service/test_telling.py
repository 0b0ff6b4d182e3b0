"""Notices that leave the hub: posted and signed, or mailed; each once, also over a restart."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from hub_ext.lease import Cause, Notice, OpenLease, Reason
from hub_ext.service.books.config import Settings
from hub_ext.service.http import metrics
from hub_ext.service.workers.telling import Teller
from tests.support.small_core import SmallCore
from tests.support.smtp_sink import smtp_sink

SECRET = "a secret of the tests, and of nobody else"
TEAMS = {
    "vision": {
        "groups": ["vision"],
        "leads": ["lena"],
        "quota": {"slices": {"nominal": "0.875"}},
    }
}


@dataclass
class Receiver:
    """A real HTTP server that keeps what is posted, and answers what the story says."""

    status: int = 204
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    def serve(self) -> HTTPServer:
        receiver = self

        class Hook(RequestHandler):
            async def post(self) -> None:
                headers = {name.lower(): value for name, value in self.request.headers.items()}
                receiver.posts.append((headers, self.request.body))
                self.set_status(receiver.status)
                if receiver.status == 302:
                    self.set_header("Location", f"{receiver.url}/elsewhere")

        server = HTTPServer(Application([(r"/hook.*", Hook)]))
        sock, port = bind_unused_port(address="127.0.0.1")
        server.add_sockets([sock])
        self.url = f"http://127.0.0.1:{port}/hook"
        return server

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _headers, body in self.posts]


Story = Callable[[SmallCore, Receiver, Teller], Awaitable[None]]


def tell(
    folder: Path, story: Story, *, kinds: tuple[str, ...] = ("idle", "budget"), **more: Any
) -> None:
    """Let a story run with a governor whose policy posts to a receiver."""

    async def main() -> None:
        receiver = Receiver()
        server = receiver.serve()
        changes = {"teams": TEAMS, **more.pop("policy", {})}
        changes.setdefault("notices", {"ops": {"kinds": list(kinds), "webhook": receiver.url}})
        with SmallCore.running(folder / "state", **changes) as core, core.runner() as runner:
            teller = Teller(runner, settings(core, folder, notice_urls=receiver.url, **more))
            try:
                await story(core, receiver, teller)
            finally:
                teller.close()
                server.stop()
                await server.close_all_connections()

    asyncio.run(main())


def settings(core: SmallCore, folder: Path, **more: Any) -> Settings:
    secret = folder / "secret"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    given = core.governor._desk.settings
    return replace(given, notice_secret=str(secret), **more)


def keep_secret(teller: Teller, text: str) -> None:
    Path(teller._settings.notice_secret).write_text(text)


def announce(core: SmallCore, lease: OpenLease, code: str = "idle", in_s: int = 900) -> None:
    notice = Notice(
        cause=Cause.culled,
        given_at=core.now,
        stops_at=core.now + timedelta(seconds=in_s),
        reason=Reason(code=code, message="Idle for 1h.", figures={"quiet_s": 3600}),
    )
    core.governor.give_notice(lease.id, notice, evidence=None, now=core.now)


def test_a_notice_is_posted_once_and_signed(tmp_path: Path) -> None:
    async def story(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        lease = core.run("ada")
        await teller.tell()
        assert receiver.posts == []
        announce(core, lease)
        for _n in range(3):
            await teller.tell()
        ((headers, body),) = receiver.posts
        (told,) = receiver.messages
        assert (told["kind"], told["about"], told["user"]) == ("idle", "stop", "ada")
        assert (told["teams"], told["words"]) == (["vision"], "Idle for 1h.")
        assert headers["webhook-id"] == told["id"]
        signed = f"{told['id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
        assert int(headers["webhook-timestamp"]) == int(core.now.timestamp())

    tell(tmp_path, story)


def test_a_stop_that_is_called_off_is_told_and_other_kinds_are_not(tmp_path: Path) -> None:
    async def story(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        lease = core.run("ada")
        await teller.tell()
        announce(core, lease)
        core.governor.withdraw_notice(lease.id, Reason(code="used", message="Used."), now=core.now)
        core.now += timedelta(hours=3, minutes=50)
        core.batch()
        lifetime = Notice(
            cause=Cause.expired,
            given_at=core.now,
            stops_at=core.now + timedelta(minutes=10),
            reason=Reason(code="lifetime-ends", message="It ends."),
        )
        core.governor.give_notice(lease.id, lifetime, evidence=None, now=core.now)
        await teller.tell()
        # The stop of hours ago is no news, nor that it was called off; that is no fault.
        assert [one["about"] for one in receiver.messages] == []
        assert core.governor.problems(now=core.now)["notices"] == ()
        announce(core, core.run("ben"))
        core.governor.withdraw_notice(
            core.governor.leases()[-1].id, Reason(code="used", message="Used."), now=core.now
        )
        await teller.tell()
        assert sorted(one["about"] for one in receiver.messages) == ["called_off", "stop"]

    tell(tmp_path, story)


def test_what_failed_is_tried_again_with_pauses_under_the_same_id(tmp_path: Path) -> None:
    async def story(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        lease = core.run("ada")
        await teller.tell()
        receiver.status = 500
        announce(core, lease, in_s=7200)
        await teller.tell()
        await teller.tell()
        assert len(receiver.posts) == 1
        (trouble,) = core.governor.problems(now=core.now)["notices"]
        assert "notices by ops do not go out: it answered with HTTP status 500" in trouble
        assert "notices" in {one.code for one in core.governor.health(now=core.now).problems}
        for seconds in (31, 61, 121):
            core.now += timedelta(seconds=seconds)
            await teller.tell()
        assert len(receiver.posts) == 4
        receiver.status = 200
        core.now += timedelta(seconds=241)
        await teller.tell()
        await teller.tell()
        assert len({headers["webhook-id"] for headers, _body in receiver.posts}) == 1
        assert len(receiver.posts) == 5
        assert core.governor.problems(now=core.now)["notices"] == ()
        text = metrics.text(metrics.gather(core.governor, core.now), {}).decode()
        assert 'gpu_commons_notices{result="failed",way="webhook"} 4.0' in text
        assert 'gpu_commons_notices{result="sent",way="webhook"} 1.0' in text
        assert "gpu_commons_notices_waiting 0.0" in text

    tell(tmp_path, story)


def test_what_was_on_its_way_goes_after_a_restart_and_what_went_does_not_again(
    tmp_path: Path,
) -> None:
    async def begun(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        first, second = core.run("ada"), core.run("ben")
        await teller.tell()
        announce(core, first)
        await teller.tell()
        assert len(receiver.posts) == 1
        receiver.status = 503
        announce(core, second)
        await teller.tell()
        assert len(receiver.posts) == 2

    async def again(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        core.now += timedelta(minutes=1)
        for _n in range(3):
            await teller.tell()
        assert [one["user"] for one in receiver.messages] == ["ben"]

    tell(tmp_path, begun)
    tell(tmp_path, again)


def test_each_threshold_of_a_budget_goes_out_once_a_period_also_after_restarts(
    tmp_path: Path,
) -> None:
    budget = {"team": "vision", "amount": "0.50", "steps": [{"at": 50, "act": "tell"}]}
    policy = {"budgets": {"grant": budget}, "modes": {"quota": "enforce", "budget": "enforce"}}

    async def reached(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        core.run("ada")
        await teller.tell()
        core.later(1900)
        for _n in range(3):
            core.governor.tend_budgets(now=core.now)
            await teller.tell()
        (told,) = receiver.messages
        assert (told["kind"], told["about"], told["code"]) == ("budget", "reached", "budget-tell")
        assert told["figures"]["at_percent"] == 50
        assert "Budget grant of vision: EUR 0.26 of EUR 0.50 is spent" in told["words"]

    async def later(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        core.now += timedelta(seconds=2000)
        core.governor.tend_budgets(now=core.now)
        await teller.tell()
        assert receiver.posts == []

    tell(tmp_path, reached, policy=policy)
    tell(tmp_path, later, policy=policy)


def test_only_allowed_addresses_are_posted_to_and_redirects_are_not_followed(
    tmp_path: Path,
) -> None:
    async def story(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        lease = core.run("ada")
        await teller.tell()
        receiver.status = 302
        announce(core, lease)
        await teller.tell()
        assert len(receiver.posts) == 1
        teller._settings = replace(teller._settings, notice_urls=receiver.url.removesuffix("ok"))
        core.now += timedelta(minutes=1)
        await teller.tell()
        assert len(receiver.posts) == 1
        (trouble,) = core.governor.problems(now=core.now)["notices"]
        assert "none that the setting notice_urls allows" in trouble

    tell(tmp_path, story)


@pytest.mark.parametrize("secret", ["", "whsec_"])
def test_without_a_secret_nothing_is_posted_and_the_log_has_none(
    tmp_path: Path, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        lease = core.run("ada")
        await teller.tell()
        keep_secret(teller, secret)
        announce(core, lease)
        await teller.tell()
        assert receiver.posts == []
        keep_secret(teller, SECRET)
        receiver.status = 500
        core.now += timedelta(minutes=1)
        await teller.tell()
        assert len(receiver.posts) == 1
        assert "there is no secret" in caplog.text
        assert SECRET not in caplog.text

    tell(tmp_path, story)


def test_a_way_that_is_new_tells_nothing_of_before(tmp_path: Path) -> None:
    async def story(core: SmallCore, receiver: Receiver, teller: Teller) -> None:
        ways = {"ops": {"kinds": ["idle"], "webhook": receiver.url}}
        announce(core, core.run("ada"))
        await teller.tell()
        core.set_policy(teams=TEAMS, notices=ways)
        await teller.tell()
        assert receiver.posts == []
        announce(core, core.run("ben"))
        await teller.tell()
        assert [one["user"] for one in receiver.messages] == ["ben"]

    tell(tmp_path, story, policy={"notices": {}})


def test_owner_and_leads_get_a_mail_each_with_what_to_do(tmp_path: Path) -> None:
    ways = {"people": {"kinds": ["idle"], "mail": ["owner", "leads", "desk@site.example"]}}
    password = tmp_path / "password"
    password.write_text("open sesame\n")
    with smtp_sink() as sink:

        async def story(core: SmallCore, _receiver: Receiver, teller: Teller) -> None:
            lease = core.run("ada")
            await teller.tell()
            announce(core, lease)
            for _n in range(2):
                await teller.tell()
            assert sorted(to for (to,), _mail in sink.mails) == [
                "ada@site.example",
                "desk@site.example",
                "lena@site.example",
            ]
            mail = next(mail for (to,), mail in sink.mails if to.startswith("ada"))
            assert mail["Subject"] == "Idle: your server stops at 2026-11-30 12:15:00 UTC"
            text = mail.get_content()
            assert "Idle for 1h." in text
            assert "keep it in JupyterLab" in text
            assert f"https://hub.example/services/gpu-commons/leases/{lease.id}" in text
            assert len({one["Message-ID"] for _to, one in sink.mails}) == 3
            assert set(sink.logins) == {("gpu", "open sesame")}

        tell(
            tmp_path,
            story,
            policy={"notices": ways},
            notice_smtp=f"smtp://gpu@127.0.0.1:{sink.port}",
            notice_smtp_password=str(password),
            notice_from="gpu-commons@site.example",
            notice_people="{user}@site.example",
            notice_pages="https://hub.example/services/gpu-commons/",
        )


def test_a_mail_server_that_is_away_or_refuses_is_told_and_keeps_nobody_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ways = {"people": {"kinds": ["idle"], "mail": ["owner"]}}
    with smtp_sink() as sink:

        async def story(core: SmallCore, _receiver: Receiver, teller: Teller) -> None:
            ada, ben = core.run("ada"), core.run("ben")
            await teller.tell()
            sink.refuse = "450 later, ada@site.example"
            announce(core, ada)
            await teller.tell()
            (trouble,) = core.governor.problems(now=core.now)["notices"]
            assert trouble.endswith("the mail server refused it with code 450")
            sink.refuse = "550 nobody of that name"
            core.now += timedelta(minutes=1)
            await teller.tell()
            sink.refuse = ""
            core.now += timedelta(hours=1)
            await teller.tell()
            # 550 is for good.
            assert sink.mails == []
            teller._settings = replace(teller._settings, notice_people="{user} of site")
            announce(core, ben)
            await teller.tell()
            (trouble,) = core.governor.problems(now=core.now)["notices"]
            assert "no mail address follows" in trouble
            assert "ada@site.example" not in caplog.text

        tell(
            tmp_path,
            story,
            policy={"notices": ways},
            notice_smtp=f"smtp://127.0.0.1:{sink.port}",
            notice_from="gpu-commons@site.example",
            notice_people="{user}@site.example",
        )
