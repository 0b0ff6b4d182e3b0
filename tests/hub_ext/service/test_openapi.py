"""The served description of the API is whole: every route, every shape, every reference."""

import json
import re

from hub_ext.service.api.routes import API, OPEN_ROUTES, ROUTES
from hub_ext.service.openapi import document

DOCUMENT = document("/services/gpu-commons/")


def test_every_route_is_described_with_its_shapes() -> None:
    for route in ROUTES:
        operation = DOCUMENT["paths"][f"/{API}{route.path}"][route.method.lower()]
        assert operation["summary"]
        assert str(route.status) in operation["responses"]
        assert ("requestBody" in operation) is (route.takes is not None)
        names = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
        assert names == re.findall(r"\{(\w+)\}", route.path)
    assert {f"/{route.path}" for route in OPEN_ROUTES} <= set(DOCUMENT["paths"])


def test_every_reference_leads_somewhere_and_every_shape_is_used() -> None:
    text = json.dumps(DOCUMENT)
    found = set(re.findall(r"#/components/schemas/([\w-]+)", text))
    assert found == set(DOCUMENT["components"]["schemas"])


def test_operation_ids_are_unique() -> None:
    ids = [
        operation["operationId"]
        for path in DOCUMENT["paths"].values()
        for operation in path.values()
    ]
    assert len(ids) == len(set(ids))
