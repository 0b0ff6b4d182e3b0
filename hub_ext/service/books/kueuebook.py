"""What the governor knows of Kueue: each lease's Workload as last seen, and what is wrong there.

Held in memory: after a restart the Workloads are listed again. It calls nobody and decides nothing.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...i18n import _
from ...kube.engine import Gone, Phase, Seen
from ...kube.names import LABEL_HUB, label_value
from ...kube.queuedemands import Breach
from ...lease import LeaseId, LeaseState, OpenLease, Reason
from .config import Settings

HUB_LABEL = LABEL_HUB
"""Label of a Workload that says which hub's governor made it: it leaves those of others alone."""

PAUSE = timedelta(seconds=10)
"""For so long after a failed write nothing is submitted for somebody who does not wait."""

A_MOMENT = timedelta(seconds=3)
"""Longer than any spawner waits for the answer to one ask."""

WATCH, WRITE = "watch", "write"
"""What may fail: to see Workloads, and to change them. Kueue's webhook is needed for the latter."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why something fails, since when, and when it failed last."""

    words: str
    since: datetime
    at: datetime


@dataclass
class KueueBook:
    """Workloads by lease, those of others, and what does not work.

    Parameters
    ----------
    hub
        Name of this governor's hub.
    """

    hub: str
    seen: dict[LeaseId, Seen] = field(default_factory=dict)
    foreign: dict[str, Seen] = field(default_factory=dict)
    """By uid: batch work, and leases of another hub's governor."""
    listed: bool = False
    """Whether all Workloads were listed since this process began."""
    trouble: dict[str, Trouble] = field(default_factory=dict)
    unfit: tuple[Breach, ...] = ()
    """What Kueue does not keep of what promises rest on, as last looked at."""
    refused: dict[LeaseId, str] = field(default_factory=dict)
    """Leases that the API does not take, in its words."""
    parked: set[LeaseId] = field(default_factory=set)
    """Pending ones that were taken out, or are about to be, so that an owner comes first."""
    leaving: dict[LeaseId, str] = field(default_factory=dict)
    """Workloads, by uid, that are being deleted to be made anew: their quota is not used."""
    missing: dict[LeaseId, datetime] = field(default_factory=dict)
    """Since when a lease that holds devices has no quota on Kueue."""
    answering: dict[LeaseId, datetime] = field(default_factory=dict)
    """When somebody was told that the answer comes in a moment: nobody is started twice."""
    stamp: int = 0
    """Grows with each piece of news, so that what was worked out is known to hold still."""
    news: dict[str, int] = field(default_factory=dict)
    """By uid the stamp of the newest news since the last list: a list may be older than that."""
    list_stamp: int = 0
    """When the newest list that was taken had been asked for."""
    idle_at: tuple[int, ...] | None = None
    """What nothing was to be done at: the ledger's newest record, the stamp, the time."""
    orphans: dict[LeaseId, datetime] = field(default_factory=dict)
    """Since when a Workload of ours is seen whose lease is not open."""

    def take(self, news: Seen | Gone) -> LeaseId | None:
        """Take one piece of news; return the lease that it is about, where it is one of ours."""
        self.stamp += 1
        self.news[news.uid] = self.stamp
        return self._keep(news)

    def _keep(self, news: Seen | Gone) -> LeaseId | None:
        lease_id = news.lease_id
        if isinstance(news, Gone):
            self.foreign.pop(news.uid, None)
            known = self.seen.get(lease_id) if lease_id is not None else None
            if lease_id is None or known is None or known.uid != news.uid:
                return None
            del self.seen[lease_id]
            return lease_id
        if lease_id is None or news.labels.get(HUB_LABEL) != label_value(self.hub):
            self.foreign[news.uid] = news
            return None
        self.seen[lease_id] = news
        return lease_id

    def begin_list(self) -> int:
        """Give a list that is about to be asked for its stamp; no two have the same."""
        self.stamp += 1
        return self.stamp

    def take_all(self, every: Iterable[Seen], since: int) -> set[LeaseId]:
        """Take a whole list; return the leases whose Workload is another than before, or gone.

        Parameters
        ----------
        since
            Its stamp of `begin_list`: what has come after that is newer, and stays. A list that
            was asked for before the last one taken tells nothing new, and is left.
        """
        if since < self.list_stamp:
            return set()
        self.list_stamp = since
        before, later = self.seen, {uid for uid, at in self.news.items() if at > since}
        newer = [one for one in (*before.values(), *self.foreign.values()) if one.uid in later]
        self.stamp += 1
        self.seen, self.foreign, self.listed = {}, {}, True
        for one in (*(one for one in every if one.uid not in later), *newer):
            self._keep(one)
        self.news = {uid: at for uid, at in self.news.items() if uid in later}
        names = before.keys() | self.seen.keys()
        return {name for name in names if before.get(name) != self.seen.get(name)}

    def has_quota(self, lease_id: LeaseId) -> bool:
        """Whether a lease may start: admitted as last seen, and Kueue can be asked now.

        One that is being taken out may be admitted in the same moment; it is not believed.
        """
        one = self.seen.get(lease_id)
        return (
            one is not None
            and one.phase is Phase.admitted
            and lease_id not in self.parked
            and self.leaving.get(lease_id) != one.uid
            and self.away is None
        )

    def forget(self, known: Collection[LeaseId]) -> None:
        """Keep nothing of leases that are not open any more."""
        self.parked &= set(known)
        self.refused = {one: words for one, words in self.refused.items() if one in known}
        self.missing = {one: at for one, at in self.missing.items() if one in known}
        self.answering = {one: at for one, at in self.answering.items() if one in known}
        self.leaving = {one: uid for one, uid in self.leaving.items() if one in known}

    def is_answering(self, lease: OpenLease, now: datetime) -> bool:
        """Whether whoever asked for a lease waits for this very answer, and comes for it."""
        at = self.answering.get(lease.id)
        waits = at is not None and timedelta(0) <= now - at < A_MOMENT
        return waits or (lease.when is None and lease.reservation is None)

    @property
    def away(self) -> Trouble | None:
        """What keeps everything from starting; None where nothing does."""
        return self.trouble.get(WATCH) or self.trouble.get(WRITE)

    def blocked(self, now: datetime) -> bool:
        """Whether it is no use to submit something for somebody who does not wait for it."""
        if WATCH in self.trouble:
            return True
        wrong = self.trouble.get(WRITE)
        # Nobody else may write for hours, so after a pause a newcomer tries.
        return wrong is not None and timedelta(0) <= now - wrong.at < PAUSE

    def failed(self, what: str, words: str, now: datetime) -> bool:
        """Note that something fails; return whether that is new."""
        known, self.stamp = self.trouble.get(what), self.stamp + 1
        self.trouble[what] = Trouble(words, now if known is None else known.since, now)
        return known is None

    def works(self, what: str) -> Trouble | None:
        """Note that something works; return what was wrong with it before."""
        return self.trouble.pop(what, None)

    def unfit_for(self, queue: str) -> Breach | None:
        """Why nothing new starts through a ClusterQueue; None where it is as it must be."""
        return next((one for one in self.unfit if not one.queues or queue in one.queues), None)

    def why(self, lease: OpenLease) -> Reason:
        """Say why a lease that could start has no quota yet."""
        one = self.seen.get(lease.id)
        if self.away is not None:
            return away_reason()
        if lease.id in self.refused:
            return Reason(
                code="kueue-refused",
                message=_(
                    "Kubernetes does not take this request: {words}. Tell an administrator; it is "
                    "tried again by itself."
                ).format(words=self.refused[lease.id]),
            )
        words = one.message if one is not None and one.phase is Phase.pending else ""
        if not words:
            return Reason(
                code="kueue-pending",
                message=_("Kueue has been asked for its quota and has not answered yet."),
            )
        return Reason(
            code="kueue-pending",
            message=_("Kueue lets it wait: {words}.").format(words=words.rstrip(".")),
        )


def away_reason() -> Reason:
    """Say that Kueue cannot be asked, to somebody who wants a GPU."""
    return Reason(
        code="kueue-away",
        message=_(
            "Kubernetes or Kueue, which admits every server with a GPU here, does not answer just "
            "now. Servers that run go on. Try again in a minute, or start without a GPU."
        ),
    )


def unfit_reason(breach: Breach) -> Reason:
    """Say that a queue is not used, because promises could not be kept there."""
    return Reason(
        code="kueue-unfit",
        message=_(
            "Kueue is not set up so that what is promised here would hold: {words}. Servers that "
            "run go on. Tell an administrator: {remedy}."
        ).format(words=breach.words, remedy=breach.remedy),
    )


def metered(lease: OpenLease) -> bool:
    """Whether a lease has a Workload at all: one with a GPU."""
    return lease.pool is not None and lease.state is not LeaseState.closed


def book_for(settings: Settings) -> KueueBook | None:
    """Give an empty book where Kueue admits; None where the governor does."""
    return KueueBook(settings.hub) if settings.engine == "kueue" else None
