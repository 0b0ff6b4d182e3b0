"""Anything in any order, once more with the ledger in a PostgreSQL."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.hub_ext.service.test_machine import Governed
from tests.support.postgres import PostgresServer


@pytest.mark.timeout(900)
def test_whatever_happens_the_rules_hold_there_too(postgres: PostgresServer) -> None:
    class There(Governed):
        server = postgres

    run_state_machine_as_test(
        There, settings=settings(max_examples=5, stateful_step_count=30, deadline=None)
    )
