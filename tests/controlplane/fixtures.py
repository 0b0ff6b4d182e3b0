"""What tests ask for by name; `tests/conftest.py` makes these known to the whole suite.

A control plane is started when the first test of a lane asks for it, and shared by that lane.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .kubelets import Kubelet
from .kueue import start_kueue
from .plane import ControlPlane
from .programs import PROGRAMS, SMOKE, NotBuiltError, Shop
from .programs.toolchain import NoGoError, find_go
from .workers import start_controllers, start_kwok, start_scheduler


def required(*programs: str) -> Shop:
    """Return where programs are; skip the test where one lacks (CI=true and Go here: fail it)."""
    shop = Shop()
    try:
        shop.require(programs)
    except NotBuiltError as lacking:
        words = str(lacking)
        try:
            find_go()
        except NoGoError as no_go:
            pytest.skip(f"no control plane here: {no_go}")
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    return shop


@contextmanager
def own_control_plane(folder: Path, **kueue: Any) -> Iterator[ControlPlane]:
    """Run a control plane with Kueue for one test or module; `kueue` are settings of it."""
    required(*SMOKE)
    with ControlPlane.running(folder) as plane:
        start_kueue(plane, **kueue)
        yield plane


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server with Kueue: it stores, checks and admits, and no pod ever runs."""
    with own_control_plane(tmp_path_factory.mktemp("control") / "plane") as plane:
        yield plane


@pytest.fixture(scope="session")
def full_control_plane(control_plane: ControlPlane) -> ControlPlane:
    """The same one, from now on with controllers, scheduler and kwok."""
    required(*PROGRAMS)
    start_controllers(control_plane)
    start_scheduler(control_plane)
    start_kwok(control_plane)
    return control_plane


@pytest.fixture
def kubelet(full_control_plane: ControlPlane) -> Iterator[Kubelet]:
    """A node with two GPUs and two MIG devices, whose pods are local processes."""
    _nobody_waits(full_control_plane)
    with Kubelet.running(full_control_plane) as node:
        yield node


def _nobody_waits(plane: ControlPlane) -> None:
    """Delete pods that another test left without a node: a new one would take them."""
    for pod in plane.api.items("/api/v1/pods", fieldSelector="spec.nodeName="):
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        plane.api.delete(path, gracePeriodSeconds="0")
        plane.api.wait_gone(path)
