"""What has to stand in Kueue's own configuration, which belongs to whoever installed Kueue."""

from typing import Any

from ...policy.model import Policy
from ...units import UNITS_PER_GPU
from .. import names
from .resources import GPU, worth
from .site import Site

__all__ = ["kueue_configuration"]


def kueue_configuration(policy: Policy, site: Site) -> dict[str, Any]:
    """Give the parts of Kueue's `Configuration` that depend on the policy, to be merged into it.

    Batch jobs that ask for GPUs by the device plugin's names so draw on the same quota as leases.
    """
    units = {GPU: UNITS_PER_GPU, **worth(policy)}
    outside = sorted({"kube-system", site.kueue_namespace, site.hub_namespace} - {site.namespace})
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        # Else every pod without a queue's name would be held, servers among them.
        "manageJobsWithoutQueueName": False,
        "managedJobsNamespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": outside}
            ]
        },
        # Jobs and pods are what the admission policies know how to hold back.
        "integrations": {"frameworks": ["batch/job", "pod"]},
        "resources": {
            "excludeResourcePrefixes": ["cpu", "memory", "ephemeral-storage", "hugepages-"],
            "transformations": [
                {"input": name, "strategy": "Replace", "outputs": {names.UNIT: str(each)}}
                for name, each in sorted(units.items())
            ],
        },
    }
