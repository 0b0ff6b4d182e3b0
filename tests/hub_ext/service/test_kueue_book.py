"""A list that was asked for before some news never takes the news back."""

from hub_ext.kube.engine import Gone, Phase, Seen
from hub_ext.lease import LeaseId
from hub_ext.service.books.kueuebook import HUB_LABEL, KueueBook
from tests.support.governing import START

ONE, TWO = LeaseId("l-1"), LeaseId("l-2")


def seen(lease: LeaseId, uid: str, phase: Phase = Phase.pending) -> Seen:
    labels = {HUB_LABEL: "hub"}
    return Seen(lease, lease, "ns", uid, phase, "", "", 1000, 840, START, labels=labels)


def test_what_came_while_a_list_was_on_its_way_stays() -> None:
    book = KueueBook("hub")
    book.take(seen(ONE, "a"))
    book.take(seen(TWO, "b"))
    since, old = book.stamp, tuple(book.seen.values())
    book.take(Gone(ONE, ONE, "ns", "a"))
    book.take(seen(TWO, "b", Phase.admitted))
    assert book.take_all(old, since) == set()
    assert set(book.seen) == {TWO}
    assert book.seen[TWO].phase is Phase.admitted


def test_a_list_tells_what_no_news_has_told() -> None:
    book = KueueBook("hub")
    book.take(seen(ONE, "a"))
    assert book.take_all((seen(TWO, "b"),), book.stamp) == {ONE, TWO}
    assert set(book.seen) == {TWO}
    assert book.listed


def test_of_two_lists_under_way_the_one_asked_for_first_undoes_nothing() -> None:
    book = KueueBook("hub")
    first, second = book.begin_list(), book.begin_list()
    assert book.take_all((seen(ONE, "a", Phase.admitted),), second) == {ONE}
    assert book.take_all((seen(ONE, "a"),), first) == set()
    assert book.seen[ONE].phase is Phase.admitted


def test_news_between_two_lists_outlives_the_older_one() -> None:
    book = KueueBook("hub")
    first = book.begin_list()
    book.take(seen(ONE, "a", Phase.admitted))
    second = book.begin_list()
    book.take_all((seen(ONE, "a", Phase.admitted),), second)
    book.take_all((seen(ONE, "a"),), first)
    assert book.seen[ONE].phase is Phase.admitted
