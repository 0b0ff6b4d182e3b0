"""What a policy that gives projects another namespace leaves where it is: said in its summary.

Nobody who has a device is moved: a pod cannot be, and its Workload holds its quota where it is.
"""

from collections import Counter
from collections.abc import Iterable

from ...i18n import _, ngettext
from ...kube.podterms import place_of
from ...lease import OpenLease
from ...policy.model import Policy


def relocated(policy: Policy, leases: Iterable[OpenLease], single: str | None) -> tuple[str, ...]:
    """Name by project how many servers run on in a namespace that is theirs no more.

    Parameters
    ----------
    single
        The one namespace of all servers; None where each project has its own.
    """
    left: Counter[tuple[str, str, str]] = Counter()
    for lease in leases:
        if lease.grant is None or lease.grant.pod is None or not lease.holding:
            continue
        if lease.project is None or lease.project not in policy.projects:
            continue
        here = lease.grant.pod.namespace
        new = place_of(policy, lease.team, lease.project, single).namespace
        if here != new:
            left[lease.project, here, new] += 1
    return tuple(
        " ".join(filter(None, (_words(*where, count), _files(policy, where[0]))))
        for where, count in sorted(left.items())
    )


def _words(project: str, here: str, new: str, count: int) -> str:
    return ngettext(
        "{n} server of {project} runs on in {here}; the next start goes to {new}.",
        "{n} servers of {project} run on in {here}; the next start goes to {new}.",
        count,
    ).format(n=count, project=project, here=here, new=new)


def _files(policy: Policy, project: str) -> str:
    if policy.projects[project].volume is None and not policy.projects[project].datasets:
        return ""
    return _("Its volume and data sets do not move along: copy them, or bind their disks there.")
