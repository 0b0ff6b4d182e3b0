"""A policy text that waits, on the admin page: shown to admins, accepted by them alone."""

import re
from pathlib import Path
from urllib.parse import urlencode

from hub_ext.policy.load import loads
from tests.hub_ext.service.test_pages import Shown, shown, words
from tests.support.governing import POLICY, Site

CAREFUL = f"apply: accept\n{POLICY}"
SMALLER = CAREFUL.replace('whole: {nominal: "2"}', 'whole: {nominal: "1"}')
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def careful(site: Site) -> None:
    site.governor.offer_policy(loads(CAREFUL), now=site.now)
    assert site.governor.offer_policy(loads(SMALLER), now=site.now) is None


def send(served: Shown, token: str, **fields: str) -> tuple[int, str]:
    body = urlencode(fields).encode()
    path = "/services/gpu-commons/admin/policy"
    answer = served.runner.run(served.door.call("POST", path, token, body, headers=FORM))
    return answer.code, words(answer)


def test_the_admin_reads_what_waits_and_accepts_it(tmp_path: Path) -> None:
    with shown(tmp_path, careful) as served:
        page = served("admin", "admin").body.decode()
        assert "teams.speech.quota.whole.nominal: 2 -&gt; 1" in page
        sha256 = re.search(r'name="sha256" value="([0-9a-f]{64})"', page)
        assert sha256 is not None
        assert 'name="_xsrf" value="' in page

        assert send(served, "admin", sha256=sha256[1])[0] == 400
        assert send(served, "admin", sha256="0" * 64, reason="no")[0] == 409
        for token in ("owner", "lead"):
            assert send(served, token, sha256=sha256[1], reason="mine")[0] == 403
        assert served.door.site.governor.policy_state.generation == 2

        assert send(served, "admin", sha256=sha256[1], reason="agreed")[0] == 302
        assert served.door.site.governor.policy_state.generation == 3
        newest = served.door.site.governor.generations(1)[0]
        assert newest.summary.startswith("agreed\n")
        assert newest.actor.kind == "user"
        assert newest.actor.admin
        assert "waits for you" not in served("admin", "admin").body.decode()
        assert send(served, "admin", sha256=sha256[1], reason="again")[0] == 409


def test_what_waits_is_told_in_full_to_admins_alone(tmp_path: Path) -> None:
    with shown(tmp_path, careful) as served:
        assert "nominal" in served("api/v1/policy", "admin").body.decode().split('"text"')[0]
        state = served("api/v1/policy", "owner").body.decode()
        assert "nominal" not in state
        assert served("healthz", None).body.decode().count("policy-waiting") == 1
