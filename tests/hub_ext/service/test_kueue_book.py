"""A list that was asked for before some news never takes the news back."""

from hub_ext.kube.engine import Gone, Phase, Seen
from hub_ext.lease import LeaseId
from hub_ext.service.kueuebook import HUB_LABEL, KueueBook
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
