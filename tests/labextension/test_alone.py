"""The extension where something is missing: the hub, the governor, the hub's packages, our name."""

from pathlib import Path

from tests.support.lab_governor import LabGovernor
from tests.support.lab_identity import OWNER_TOKEN
from tests.support.lab_page import Page
from tests.support.lab_server import hub_environment, lab_server
from tests.support.web import call

HUB_ONLY = frozenset(
    {"sqlalchemy", "alembic", "jupyterhub", "plotly", "ruamel", "spawner", "psycopg"}
)


def test_in_a_user_image_it_runs_without_the_hubs_packages_and_without_the_spawner(
    tmp_path: Path,
) -> None:
    with (
        LabGovernor.serve() as governor,
        lab_server(tmp_path, hub_environment(governor.url), absent=HUB_ONLY) as server,
        Page(server.url) as page,
    ):
        state = page.until(lambda state: state["link"] == "live")
    assert state["view"]["lease"]["team"] == "vision"


def test_outside_a_hub_it_says_so_and_asks_nobody(tmp_path: Path) -> None:
    with lab_server(tmp_path, {}) as server:
        with Page(server.url) as page:
            assert page.next()["link"] == "no_hub"
        answer = call("POST", f"{server.url}/gpu-commons/stop", token=OWNER_TOKEN, body={})
    assert answer.status == 409
    assert answer.json["code"] == "no-governor"


def test_on_a_hub_without_gpu_commons_it_says_so(tmp_path: Path) -> None:
    environment = hub_environment("")
    with lab_server(tmp_path, environment) as server, Page(server.url) as page:
        assert page.next()["link"] == "no_governor"


def test_with_no_governor_listening_the_server_lives_and_the_page_knows(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9/services/gpu-commons/api/v1"
    with lab_server(tmp_path, hub_environment(nobody)) as server, Page(server.url) as page:
        state = page.until(lambda state: state["link"] == "stale")
        assert state["view"] is None
        assert state["since"] is None
        assert call("GET", f"{server.url}/api").status == 200


def test_beside_a_foreign_hub_ext_it_does_not_load_and_names_the_intruder(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "hub_ext.py").write_text("ANSWER = 42\n")
    with lab_server(tmp_path, {}, before=foreign) as server:
        answer = call("GET", f"{server.url}/gpu-commons/stream", token=OWNER_TOKEN)
        assert answer.status == 404
        assert str(foreign / "hub_ext.py") in server.output
