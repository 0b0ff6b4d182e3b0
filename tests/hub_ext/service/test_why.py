"""Why somebody waits: each part of the number, what is ahead, and who could be called in or not."""

import json
from collections.abc import Callable

import pytest

from hub_ext.commands.why import lines
from hub_ext.lease import OpenLease
from hub_ext.lease.why import Holder, Why
from hub_ext.service.leasing.why import about
from tests.hub_ext.service.test_calling_in import SAFE_S, called_in, full, review
from tests.support.governing import Site


def everything(_lease: OpenLease) -> bool:
    return True


def own(user: str) -> Callable[[OpenLease], bool]:
    return lambda lease: lease.key.user == user


def asked(site: Site, of: str, shown: Callable[[OpenLease], bool] = everything) -> Why:
    (found,) = site.governor.why(about(of), shown, now=site.now).found
    return found


def holder(why: Why, code: str) -> Holder:
    return next(one for one in why.holders if one.code == code)


def test_an_owner_hears_the_bound_and_whose_device_comes_when(site: Site) -> None:
    full(site)
    site.waits("sue")
    found = asked(site, "sue", own("sue"))
    assert "within the team's guarantee" in found.promise.lower()
    assert "50m at most" in found.promise
    assert found.priority == "no task type 0"
    assert (found.number, found.place, found.ahead) == (1000, 1, ())
    safe = holder(found, "protected")
    assert safe.whose == "another team"
    assert "protected until 2026-11-30 09:30:00 UTC" in safe.words
    assert holder(found, "guaranteed").whose == "another team"
    assert holder(found, "same-team").whose == "your own team"
    assert "vera" not in found.model_dump_json()


def test_later_it_may_be_called_in_and_then_it_is(site: Site) -> None:
    full(site)
    site.waits("sue")
    site.later(SAFE_S)
    assert holder(asked(site, "sue"), "open").until is None
    review(site)
    called = holder(asked(site, "sue"), "called-in")
    assert "it stops at 2026-11-30 09:45:00 UTC" in called.words
    assert "first, because devices are called in for it" in asked(site, "sue").priority


def test_who_would_borrow_hears_that_nobody_is_called_in_for_it(site: Site) -> None:
    full(site)
    site.waits("sue")
    site.waits("vera", server="more")
    found = asked(site, "vera/more", own("vera"))
    assert "nobody is called in for it" in found.promise
    assert [(one.place, one.whose) for one in found.ahead] == [(1, "another team")]
    assert {one.code for one in found.holders} <= {"borrows", "same-team", "guaranteed"}


def test_who_may_see_a_lease_hears_whose_it_is(site: Site) -> None:
    full(site)
    site.waits("sue")
    found = asked(site, "sue")
    assert any("viktor/" in one.whose for one in found.holders)


def test_what_runs_says_what_it_can_count_on_and_what_is_announced(site: Site) -> None:
    borrowed, _owner = called_in(site)
    found = asked(site, borrowed.lease_id)
    assert "another team's guarantee" in found.answer
    assert found.contract is not None
    assert found.contract.called_in
    assert found.priority == "weight 0, frozen at the start"


@pytest.mark.parametrize(("of", "count"), [("viktor", 1), ("viktor/-", 1), ("vera/more", 0)])
def test_it_is_asked_by_person_and_by_server(site: Site, of: str, count: int) -> None:
    full(site)
    sheet = site.governor.why(about(of), everything, now=site.now)
    assert len(sheet.found) == count


def test_the_command_line_prints_all_of_it(site: Site) -> None:
    full(site)
    site.waits("sue")
    sheet = site.governor.why(about("sue"), everything, now=site.now)
    text = "\n".join(lines(sheet, "sue"))
    for words in ("sue/", "priority  1000 (no task type 0)", "promise", "short", "protected until"):
        assert words in text
    assert json.loads(sheet.model_dump_json())["live"] is True
    nothing = site.governor.why(about("nobody"), everything, now=site.now)
    assert "Nothing of nobody is on record" in "\n".join(lines(nothing, "nobody"))
