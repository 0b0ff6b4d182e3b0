"""`doctor` on ways out for notices: what is not allowed, missing or open to others is named."""

from pathlib import Path

import pytest

from hub_ext.commands.doctor.findings import Look, Verdict
from hub_ext.commands.doctor.notices import notices
from hub_ext.commands.onsite import onsite
from tests.hub_ext.commands.test_doctor import prepared
from tests.support.governing import POLICY, site_in

WAYS = """\
notices:
  ops: {kinds: [idle], webhook: "https://chat.example/hooks/1"}
  people: {kinds: [budget], mail: [owner]}
"""


def said(tmp_path: Path, policy: str = POLICY + WAYS) -> list[str]:
    with site_in(tmp_path / "state") as site:
        kept = prepared(site)
        (site.state / "policy.yaml").write_text(policy)
        return [
            f"{one.verdict.value}: {one.words}" for one in notices(Look(onsite(str(kept.path))))
        ]


def test_none_is_fine(tmp_path: Path) -> None:
    (line,) = said(tmp_path, POLICY)
    assert line.startswith("ok: the policy names no way out")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    found = said(tmp_path)
    assert [one.partition(":")[0] for one in found] == [Verdict.wrong] * 3
    assert "the address of ops is none" in found[0]
    assert "there is no secret" in found[1]
    assert "notice_smtp is no mail server" in found[2]


def test_what_is_set_can_be_used_and_a_secret_that_others_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("quiet")
    secret.chmod(0o600)
    for name, value in (
        ("URLS", "https://chat.example/hooks"),
        ("SECRET", str(secret)),
        ("SMTP", "smtp://127.0.0.1:25"),
        ("FROM", "gpu@site.example"),
    ):
        monkeypatch.setenv(f"GPU_COMMONS_NOTICE_{name}", value)
    assert said(tmp_path) == ["ok: 2 ways out for notices can be used"]
    secret.chmod(0o644)
    (line,) = said(tmp_path)
    assert line == f"wrong: {secret} can be read by others"
