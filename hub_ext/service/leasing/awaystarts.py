"""What a spawner needs to start servers without a GPU while this governor is away.

On Kubernetes it may not choose by itself where a pod lives and what it mounts: the policy does.
"""

from ...errors import RefusedError
from ...kube.podterms import PodSettings, pod_terms
from ...lease import Choice, Offer, OfferSheet, PodTerms
from ...policy.catalogue import Person, resolve
from ..books.desk import Turn


def with_terms(turn: Turn, sheet: OfferSheet, person: Person) -> OfferSheet:
    """Tell of each offer without a GPU what its pod is made of; nothing where servers are none."""
    if not turn.desk.settings.on_kubernetes:
        return sheet
    offers = tuple(
        one
        if one.pool is not None
        else one.model_copy(update={"kube": _made_of(turn, one, person)})
        for one in sheet.offers
    )
    return sheet.model_copy(update={"offers": offers})


def _made_of(turn: Turn, offer: Offer, person: Person) -> PodTerms | None:
    """Make the terms of an offer; None where it is refused, as it would be with us there."""
    policy = turn.desk.book.policy
    settings = PodSettings(single=turn.desk.settings.kube_namespace or None)
    choice = Choice(
        profile=offer.profile, team=offer.team, project=offer.project, task_type=offer.task_type
    )
    try:
        return pod_terms(policy, resolve(policy, person, choice, turn.now), None, settings)
    except RefusedError:
        return None
