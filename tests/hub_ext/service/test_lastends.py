"""Whoever comes to start the next server reads first how the last one ended, and what to do."""

from hub_ext.lease import EndedServer, Grant, Liveness, Reason, Report, ReportKind, UserName
from hub_ext.policy.catalogue import Person
from tests.support.governing import GROUPS, Site

OOM = Reason(code="out-of-memory", message="Your server used all the memory of its profile.")


def told(site: Site, user: str = "vera") -> tuple[EndedServer, ...]:
    person = Person(user=UserName(user), groups=GROUPS[user])
    return site.governor.offers(person, now=site.now).ended


def dies(site: Site, grant: Grant, why: Reason | None = OOM) -> None:
    """Let a pod end by itself, as its spawner then tells it."""
    process = site.lease(grant).process
    if process is not None:
        site.machine.end(process)
    report = Report(
        kind=ReportKind.ended, key=grant.key, liveness=Liveness.gone, exit_code=137, reason=why
    )
    site.governor.report(grant.attempt_id, report, now=site.now)


def test_a_server_that_ran_out_of_memory_is_told_of_until_it_runs_again(site: Site) -> None:
    grant = site.run("vera")
    assert told(site) == ()
    dies(site, grant)
    (end,) = told(site)
    assert (end.server, end.words) == ("", OOM.message)
    assert end.at == site.lease(grant).closed_at
    assert told(site, "viktor") == (), "it is nobody else's"
    site.run("vera")
    assert told(site) == ()


def test_a_start_that_failed_is_told_of_in_the_spawners_words(site: Site) -> None:
    pulled = Reason(code="image-pull", message="The image of your project cannot be fetched.")
    dies(site, site.ask(site.asking("vera")), pulled)
    assert [one.words for one in told(site)] == [pulled.message]


def test_what_somebody_did_themselves_or_long_ago_is_not_told(site: Site) -> None:
    site.stop(site.run("vera"))
    assert told(site) == ()
    dies(site, site.run("vera"))
    site.later(23 * 3600)
    assert len(told(site)) == 1
    site.later(2 * 3600)
    assert told(site) == ()


def test_each_server_is_told_of_the_newest_first_and_not_too_many(site: Site) -> None:
    for name in ("a", "b", "c", "d"):
        dies(site, site.run("vera", "cpu", server=name))
        site.later(60)
    assert [one.server for one in told(site)] == ["d", "c", "b"]
