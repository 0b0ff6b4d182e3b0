"""Budgets on the pages of a person, a lead and an admin, and what each of them does not see."""

from html import unescape
from pathlib import Path

from tornado.httpclient import HTTPResponse

from hub_ext.policy.load import loads
from tests.hub_ext.service.test_pages import shown
from tests.support.governing import POLICY, Site

BUDGETS = """\
budgets:
  month:
    {team: vision, amount: "3.60", hard: true, steps: [{at: 40, act: tell}, {at: 90, act: stop}]}
  own: {team: vision, each: person, amount: "7.20", steps: [{at: 20, act: no_new}]}
  speech-month: {team: speech, amount: "100.00", steps: [{at: 100, act: no_new}]}
"""


def half_an_hour(site: Site) -> None:
    site.governor.set_policy(loads(POLICY + BUDGETS), now=site.now)
    site.run("vera")
    site.later(1800)
    site.governor.tend_budgets(now=site.now)


def rows(answer: HTTPResponse) -> list[list[str]]:
    """Cells of the table of budgets."""
    assert answer.code == 200
    _before, found, rest = answer.body.decode().partition('<h2 id="budgets">')
    if not found:
        return []
    body = rest.split("<tbody>")[1].split("</tbody>")[0]
    return [
        [unescape(cell.split(">", 1)[1].split("</t")[0]) for cell in row.split("<t")[2:]]
        for row in body.split("</tr>")[:-1]
    ]


def test_a_person_sees_what_binds_them_with_what_is_left(tmp_path: Path) -> None:
    with shown(tmp_path, half_an_hour) as served:
        month, own = rows(served(""))
        assert month[:7] == [
            "month",
            "vision",
            "EUR 3.60",
            "EUR 1.80",
            "50 %",
            "EUR 1.80",
            "EUR 0.00",
        ]
        assert month[7] == (
            "since 2026-11-30 09:30:00 UTC: who runs a server with a GPU is told; (only recorded); "
            "from 90 % on: nothing new with a GPU starts, and what runs is stopped with notice; "
            "hard"
        )
        assert own[:2] == ["own", "vera (vision)"]
        assert b"speech-month" not in served("").body


def test_a_lead_sees_each_person_of_the_team_and_the_admin_every_budget(tmp_path: Path) -> None:
    with shown(tmp_path, half_an_hour) as served:
        assert [row[:2] for row in rows(served("team/vision", "lead"))] == [
            ["month", "vision"],
            ["own", "vera (vision)"],
        ]
        admin = served("admin", "admin")
        assert [row[0] for row in rows(admin)] == ["month", "own", "speech-month"]
        assert "2 of 3 budgets have come to a step; most is spent of month, 50 %." in unescape(
            admin.body.decode()
        )
        assert "Budgets: observe." in unescape(admin.body.decode())


def test_where_there_is_no_budget_nothing_is_said_of_one(tmp_path: Path) -> None:
    with shown(tmp_path, lambda site: site.run("vera")) as served:
        assert rows(served("")) == []
        assert rows(served("team/vision", "lead")) == []


def test_my_limits_have_a_section_on_budgets(tmp_path: Path) -> None:
    with shown(tmp_path, half_an_hour) as served:
        text = unescape(served("limits").body.decode())
        assert '<h2 id="budgets">Budgets</h2>' in text
        assert "Budget month of team vision: EUR 3.60, of which EUR 1.80 is spent (50 %)" in text
        assert "It is hard" in text
