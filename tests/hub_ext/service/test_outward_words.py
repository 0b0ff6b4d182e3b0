"""Addresses, secrets and words of notices that go out, one rule at a time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from hub_ext.lease import ServerName, UserName
from hub_ext.lease.outward import OutwardAbout, OutwardKind, OutwardMessage
from hub_ext.policy.load import loads
from hub_ext.service.workers.mailhook import MailServer, address_of
from hub_ext.service.workers.outwardwords import mail, subject, text
from hub_ext.service.workers.webhook import NotSentError, allowed, secret_in, signature
from tests.support.governing import POLICY

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def told(
    kind: OutwardKind = "idle", about: OutwardAbout = "stop", **more: object
) -> OutwardMessage:
    made = OutwardMessage(
        id="n-hub-7",
        kind=kind,
        about=about,
        code=kind,
        at=NOON,
        hub="hub",
        user=UserName("ada"),
        server=ServerName("train"),
        stops_at=NOON,
        words="Because.",
        figures={"budget": "grant", "at_percent": 80},
    )
    return made.model_copy(update=more)


@pytest.mark.parametrize("kind", get_args(OutwardKind))
@pytest.mark.parametrize("about", ["stop", "advice", "reached", "began"])
def test_every_kind_has_a_subject_and_something_to_do(
    kind: OutwardKind, about: OutwardAbout
) -> None:
    one = told(kind, about)
    assert "{" not in subject(one, "UTC")
    assert text(one, "UTC", "").count("\n\n") == 3


def test_no_line_break_of_a_name_reaches_a_header() -> None:
    one = told(server=ServerName("a\r\nBcc: all@site.example"))
    made = mail(one, sender="gpu@site.example", to="ada@site.example", zone="UTC", pages="")
    assert made["Bcc"] is None
    assert "\n" not in made["Subject"]


@pytest.mark.parametrize(
    ("to", "people", "address"),
    [
        ("ada", "{user}@site.example", "ada@site.example"),
        ("ada@site.example", "{user}", "ada@site.example"),
        ("desk@site.example", "{user}@other.example", "desk@site.example"),
        ("ada", "{user}", None),
        ("a b", "{user}@site.example", None),
        ("ada>,<eve", "{user}@site.example", None),
        ("ada\r\nRCPT TO:<eve@x>", "{user}@site.example", None),
    ],
)
def test_addresses_follow_from_names_or_there_is_none(
    to: str, people: str, address: str | None
) -> None:
    if address is not None:
        assert address_of(to, people) == address
        return
    with pytest.raises(NotSentError) as caught:
        address_of(to, people)
    assert caught.value.for_good


@pytest.mark.parametrize(
    ("url", "urls", "may"),
    [
        ("https://chat.example/hooks/1", "https://chat.example/hooks/", True),
        ("https://chat.example/hooks/1", "https://chat.example", True),
        ("https://chat.example.evil.example/1", "https://chat.example", False),
        ("https://chat.example/hooks-of-others", "https://chat.example/hooks", False),
        ("https://b.example/x", "https://a.example/ https://b.example/", True),
        ("https://b.example/x", "", False),
    ],
)
def test_an_address_is_allowed_up_to_a_boundary(url: str, urls: str, may: bool) -> None:
    assert allowed(url, urls) is may


def test_a_mail_server_holds_no_password_in_its_address() -> None:
    assert MailServer.read("smtp+starttls://gpu@mail.example") == MailServer(
        "smtp+starttls", "mail.example", 587, "gpu"
    )
    for wrong in ("", "mail.example", "http://mail.example", "smtp://gpu:secret@mail.example"):
        with pytest.raises(NotSentError) as caught:
            MailServer.read(wrong)
        assert "secret@" not in str(caught.value)


def test_a_secret_may_be_base64_and_the_signature_is_that_of_standard_webhooks(
    tmp_path: Path,
) -> None:
    file = tmp_path / "secret"
    file.write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    body = b'{"test": 2432232314}'
    signed = signature(secret_in(str(file)), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    # The example of the specification.
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("ways", "finding"),
    [
        ("a: {kinds: [idle], webhook: 'https://x.example/', mail: [owner]}", "one way"),
        ("a: {kinds: [idle]}", "one way"),
        ("a: {kinds: [], mail: [owner]}", "at least one"),
        ("a: {kinds: [idle], webhook: 'ftp://x.example/'}", "notices.a.webhook"),
        ("a: {kinds: [idle], webhook: 'https://u:p@x.example/'}", "notices.a.webhook"),
        ("a: {kinds: [idle], mail: [somebody]}", "notices.a.mail"),
        ("a: {kinds: [idle], teams: [vison], mail: [owner]}", "there is no team 'vison'"),
        ("a: {kinds: [idle, idle], mail: [owner]}", "is here twice"),
        (
            "{a: {kinds: [idle], webhook: 'https://x/'}, b: {kinds: [idle], webhook: 'https://x/'}}",
            "posts the same there already",
        ),
    ],
)
def test_wrong_ways_are_named_by_their_place(ways: str, finding: str) -> None:
    lines = ways if ways.startswith("{") else f"{{{ways}}}"
    try:
        found = "\n".join(one.text("x") for one in loads(f"{POLICY}notices: {lines}\n").warnings)
    except Exception as error:  # noqa: BLE001 - its words are what is looked at
        found = str(error)
    assert finding in found
