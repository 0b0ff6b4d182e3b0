"""The governor's Deployment: one at a time, no secret rendered, and all that it needs told."""

from typing import Any

from hub_ext.kube.render import Site, rendered
from hub_ext.kube.render.governor import LEDGER_SECRET, POLICY_MAP, TOKENS_SECRET
from hub_ext.service.books.config import GovernorConfig
from tests.support.rendering import of_kind, site_policy

IMAGE = "registry.example/gpu-commons:1.0"


def deployment(site: Site) -> dict[str, Any]:
    (found,) = of_kind(rendered(site_policy(), site), "Deployment").values()
    return found


def test_without_an_image_nothing_is_rendered() -> None:
    made = rendered(site_policy(), Site())
    assert not of_kind(made, "Deployment")
    assert not of_kind(made, "Service")


def test_there_is_never_a_second_one_and_the_service_leads_to_it() -> None:
    site = Site(governor_image=IMAGE, hub_namespace="hub", governor_port=9000)
    made = deployment(site)
    assert made["spec"]["replicas"] == 1
    assert made["spec"]["strategy"] == {"type": "Recreate"}
    service = of_kind(rendered(site_policy(), site), "Service")["hub/gpu-commons-governor"]
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    (port,) = service["spec"]["ports"]
    assert port["port"] == 9000


def test_its_settings_are_ones_that_the_governor_reads() -> None:
    site = Site(governor_image=IMAGE, hub_namespace="hub", namespace="hub", engine="embedded")
    (container,) = deployment(site)["spec"]["template"]["spec"]["containers"]
    told = {one["name"]: one.get("value") for one in container["env"]}
    plain = {name: value for name, value in told.items() if value is not None}
    settings = GovernorConfig.from_environment(plain).settings()
    assert str(settings.policy) == "/etc/gpu-commons/policy.yaml"
    assert (settings.engine, settings.servers) == ("embedded", "pods")
    assert (settings.kube_namespace, settings.kube_hub_namespace) == ("hub", "hub")
    ours = {name.removeprefix("GPU_COMMONS_").lower() for name in told if "GPU_COMMONS_" in name}
    assert ours <= set(GovernorConfig.class_trait_names(config=True))
    assert told["JUPYTERHUB_API_URL"] == "http://hub.hub.svc:8081/hub/api"


def test_secrets_and_policy_are_named_and_never_rendered() -> None:
    made = rendered(site_policy(), Site(governor_image=IMAGE))
    assert not [one for one in made if one["kind"] == "Secret"]
    inside = deployment(Site(governor_image=IMAGE))["spec"]["template"]["spec"]
    (container,) = inside["containers"]
    secret = {
        one["name"]: one["valueFrom"]["secretKeyRef"]
        for one in container["env"]
        if "valueFrom" in one
    }
    assert secret == {
        "JUPYTERHUB_API_TOKEN": {"name": TOKENS_SECRET, "key": "governor"},
        "GPU_COMMONS_LEDGER_URL": {"name": LEDGER_SECRET, "key": "url"},
    }
    assert {"name": "policy", "configMap": {"name": POLICY_MAP}} in inside["volumes"]


def test_it_is_as_restricted_as_a_server() -> None:
    inside = deployment(Site(governor_image=IMAGE, governor_claim="readings"))["spec"]["template"][
        "spec"
    ]
    (container,) = inside["containers"]
    assert inside["securityContext"]["runAsNonRoot"]
    assert inside["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not container["securityContext"]["allowPrivilegeEscalation"]
    kept = {one["name"]: one for one in inside["volumes"]}["state"]
    assert kept["persistentVolumeClaim"] == {"claimName": "readings"}
