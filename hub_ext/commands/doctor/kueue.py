"""Checks of Kueue, where it admits leases: whether it keeps what this product demands of it."""

import asyncio
from collections.abc import Iterator

from ...errors import PolicyError, RefusedError, UnreachableError
from ...i18n import _
from ...kube.api import Api
from ...kube.demands import Cluster, Expected, Weight, breaches, expected
from ...kube.inspecting import inspect
from ...kube.render import Site
from ...policy.load import load
from .findings import Finding, Look, ok, warn, wrong


def kueue(look: Look) -> Iterator[Finding]:
    """Whether Kueue is set up so that no promise of the policy is broken."""
    if look.cluster is None and look.told("GPU_COMMONS_ENGINE") != "kueue":
        yield ok(_("not used: the governor admits leases by itself"))
        return
    file, site = look.site.policy, _site(look)
    if file is None:
        yield wrong(_("no policy file is known"), _("call configure() and restart the hub"))
        return
    try:
        needs = expected(load(file).policy, site)
    except (PolicyError, OSError) as error:
        first = str(error).partition("\n")[0]
        yield wrong(first, _("run `gpu-commons check` on it and mend what it names"))
        return
    try:
        cluster = asyncio.run(_inspected(look, needs, site))
    except (UnreachableError, RefusedError) as error:
        yield wrong(
            _("Kueue could not be looked at: {error}").format(error=error),
            _("name the cluster with --kubeconfig, as somebody who may read its queues"),
        )
        return
    found = list(breaches(cluster, needs))
    for one in found:
        make = wrong if one.weight is Weight.wrong else warn
        yield make(one.words, one.remedy)
    if not any(one.weight is Weight.wrong for one in found):
        yield ok(_("Kueue keeps what the {n} queues need").format(n=len(needs.homes)))


def _site(look: Look) -> Site:
    given = {
        "hub_namespace": look.told("GPU_COMMONS_KUBE_HUB_NAMESPACE"),
        "namespace": look.told("GPU_COMMONS_KUBE_NAMESPACE"),
    }
    named = {key: value for key, value in given.items() if value}
    return Site.model_validate({**named, "home_size": look.settings.get("home_size") or None})


async def _inspected(look: Look, needs: Expected, site: Site) -> Cluster:
    api = Api(look.kubeconfig)
    spaces = frozenset(home.namespace for home in needs.homes)
    try:
        return await inspect(api, spaces, site.kueue_namespace)
    finally:
        await api.close()
