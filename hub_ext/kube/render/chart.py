"""What the values of the Zero to JupyterHub chart need because of the policy: to be merged."""

from typing import Any

from .site import Site

__all__ = ["chart_values"]


def chart_values(site: Site) -> dict[str, Any]:
    """Give the parts of the chart's values that have to agree with what is rendered."""
    beyond = {"networkPolicy": {"interNamespaceAccessLabels": "accept"}}
    apart = site.namespace is None or site.namespace != site.hub_namespace
    values: dict[str, Any] = {
        "singleuser": {
            # Network policies only add up: the chart's own would let every server out.
            "networkPolicy": {"enabled": False},
            # The rendered ones shut the metadata address without a privileged container.
            "cloudMetadata": {"blockWithIptables": False},
            # Each namespace bounds its claims, so the homes in it have a size that it knows.
            "storage": {"type": "none"}
            if site.home_size is None
            else {"type": "dynamic", "capacity": site.home_size},
            "extraLabels": {
                "hub.jupyter.org/network-access-hub": "true",
                "hub.jupyter.org/network-access-proxy-http": "true",
            },
        },
        # The governor stops what is idle, with notice and evidence.
        "cull": {"enabled": False},
    }
    if apart:
        values["hub"] = {
            **beyond,
            "config": {
                "JupyterHub": {
                    # From another namespace the short name leads nowhere.
                    "hub_connect_url": f"http://hub.{site.hub_namespace}.svc:8081"
                }
            },
        }
        values["proxy"] = {"chp": beyond, "traefik": beyond}
    return values
