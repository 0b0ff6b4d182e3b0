"""The page of anomalies as served: who sees which, what it says, and what its form does."""

from pathlib import Path
from urllib.parse import urlencode

from hub_ext.lease import Cause
from hub_ext.policy.load import loads
from hub_ext.service.http import metrics
from tests.hub_ext.service.test_pages import PEOPLE, Shown, shown, words
from tests.support.governing import Site, site_in
from tests.support.odd_site import GIB, LONG, look, pass_time

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def odd(site: Site) -> None:
    """Let vera and sam hold GPUs that they never use."""
    site.governor.set_policy(loads(LONG), now=site.now)
    site.run("vera")
    site.run("sam")
    pass_time(site, 1.2)


def send(served: Shown, token: str, **fields: str) -> tuple[int, str]:
    address = "/services/gpu-commons/anomalies/act"
    body = urlencode(fields).encode()
    answer = served.runner.run(served.door.call("POST", address, token, body, headers=FORM))
    return answer.code, words(answer)


def test_leads_see_their_own_admins_all_and_others_are_told_whose_page_it_is(
    tmp_path: Path,
) -> None:
    with shown(tmp_path, odd) as served:
        seers = {"lead", "other-lead", "admin"}
        found = {role: served("anomalies", role).code for role in PEOPLE}
        assert found == {role: 200 if role in seers else 403 for role in PEOPLE}
        mine = words(served("anomalies", "lead"))
        assert "vera never used Its GPU has not been used since it started." in mine
        assert "Stands for so far EUR 4.32" in mine
        assert "Since 2026-11-30 09:00 UTC (1 h 12 min)" in mine
        assert "Proposed ask the owner" in mine
        assert "Together they stand for EUR 4.32." in mine
        assert "sam" not in mine
        every = words(served("anomalies", "admin"))
        assert "sam never used" in every
        assert "Together they stand for EUR 8.64." in every
        assert (
            'href="/services/gpu-commons/anomalies"' in served("team/vision", "lead").body.decode()
        )
        assert "Anomalies" not in words(served("", "owner"))


def test_a_lead_asks_by_the_form_and_the_owner_reads_it(tmp_path: Path) -> None:
    with shown(tmp_path, odd) as served:
        site = served.door.site
        page = served("anomalies", "lead").body.decode()
        [one] = site.governor.anomalies(("vision",), now=site.now).open
        assert page.index('value="ask"') < page.index('value="notice"')
        assert 'value="stop"' not in page
        assert send(served, "lead", id=one.id, act="ask", reason="Do you still need it?")[0] == 302
        assert "lena asks you: Do you still need it? Its GPU has not been used" in words(served(""))
        code, said = send(served, "lead", id=one.id, act="stop", reason="now")
        assert (code, "cannot be done about this by you" in said) == (403, True)
        assert send(served, "other-lead", id=one.id, act="ask", reason="me too")[0] == 404
        assert send(served, "owner", id=one.id, act="ask", reason="me too")[0] == 403
        code, said = send(served, "lead", id=one.id, act="ask", reason=" ")
        assert (code, "say in a few words why" in said) == (400, True)


def test_an_admin_stops_with_notice_by_the_form(tmp_path: Path) -> None:
    with shown(tmp_path, odd) as served:
        site = served.door.site
        one = next(x for x in site.governor.anomalies(now=site.now).open if x.owner == "sam")
        assert send(served, "admin", id=one.id, act="stop", reason="others wait")[0] == 302
        notice = next(x.notice for x in site.governor.leases(user="sam"))
        assert notice is not None
        assert (notice.cause, notice.is_advice) == (Cause.admin, False)


def test_what_is_over_is_listed_for_a_week_with_what_it_stood_for(tmp_path: Path) -> None:
    with shown(tmp_path, odd) as served:
        site = served.door.site
        pass_time(site, 0.4, gpu=80, memory=20 * GIB)
        page = words(served("anomalies", "lead"))
        assert "Nothing is odd now." in page
        assert "vera never used vision 2026-11-30 09:00 UTC 2026-11-30 10:12 UTC" in page
        site.later(8 * 86400)
        look(site)
        assert "vera" not in words(served("anomalies", "lead"))


def test_an_empty_site_says_so(tmp_path: Path) -> None:
    with shown(tmp_path) as served:
        page = words(served("anomalies", "admin"))
        assert "Nothing is odd now." in page
        assert "Over within the last 7 days None." in page


def test_metrics_count_every_kind_and_name_nobody(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=LONG) as site:
        empty = metrics.text(metrics.gather(site.governor, site.now), {}).decode()
        assert 'gpu_commons_anomalies{kind="hoarding",pool=""} 0.0' in empty
        assert "gpu_commons_anomaly_cost{" not in empty
        odd(site)
        text = metrics.text(metrics.gather(site.governor, site.now), {}).decode()
        assert 'gpu_commons_anomalies{kind="never_used",pool="whole"} 2.0' in text
        assert 'gpu_commons_anomaly_cost{kind="never_used",pool="whole"} 8.64' in text
        assert "vera" not in text
        assert "l-0001" not in text
