"""What is rendered of a site is in the repository, for people to read and to see it change."""

import pytest

from hub_ext.kube.render import Site
from hub_ext.kube.render.files import files
from tests.support.goldens import matches
from tests.support.rendering import PLACE, site_policy

SITES = {
    "by-project": Site(submitters=("group:researchers",)),
    "one-namespace": Site(namespace="jupyterhub"),
    "everything": Site(
        hub_namespace="hub",
        agent_image="registry.example/gpu-commons:1.0",
        governor_image="registry.example/gpu-commons:1.0",
        governor_claim="gpu-commons-readings",
        service_monitor=True,
        device_namespace="gpu-operator",
        dns=("169.254.20.10/32",),
    ),
}


@pytest.mark.parametrize("name", SITES)
def test_the_files_of_a_site_are_as_kept(name: str) -> None:
    matches(PLACE / name, files(site_policy(), SITES[name]))
