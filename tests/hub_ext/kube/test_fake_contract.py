"""The stories that the real Kueue was told, on the small one of the tests: it behaves alike."""

from pathlib import Path

import pytest

from tests.controlplane.test_contract_taken import (
    test_k1_a_guaranteed_lease_is_taken_unless_all_that_runs_stands_above_what_waits,
    test_k3_a_withdrawn_notice_is_taken_back_and_the_lease_goes_on,
    test_k5_a_teammate_who_would_borrow_takes_a_teammates_lease_unless_that_is_off,
    test_k6_a_lowered_quota_costs_a_guaranteed_lease_unless_it_stands_above,
    test_k11_a_weight_below_0_falls_among_what_is_called_in_so_weights_are_clamped,
    test_k14_a_project_without_quota_of_its_own_reclaims_inside_its_teams,
    test_w_a_called_in_lease_wakes_no_owner_but_the_owners_own_number_does,
)
from tests.controlplane.test_contract_waiting import (
    test_k2_newcomers_borrow_past_a_waiting_owner_unless_they_are_kept_out,
    test_k4_deactivation_frees_quota_at_once_so_the_client_refuses_it,
    test_k10_a_drained_queue_evicts_and_keeps_quota_until_we_delete,
    test_k13_the_selector_of_a_lease_names_its_pool,
    test_k15_what_steps_out_while_it_waits_keeps_its_place,
)
from tests.support.fake_scene import FakeScene
from tests.support.kube_scene import Scenes

__all__ = [
    "test_k1_a_guaranteed_lease_is_taken_unless_all_that_runs_stands_above_what_waits",
    "test_k2_newcomers_borrow_past_a_waiting_owner_unless_they_are_kept_out",
    "test_k3_a_withdrawn_notice_is_taken_back_and_the_lease_goes_on",
    "test_k4_deactivation_frees_quota_at_once_so_the_client_refuses_it",
    "test_k5_a_teammate_who_would_borrow_takes_a_teammates_lease_unless_that_is_off",
    "test_k6_a_lowered_quota_costs_a_guaranteed_lease_unless_it_stands_above",
    "test_k10_a_drained_queue_evicts_and_keeps_quota_until_we_delete",
    "test_k11_a_weight_below_0_falls_among_what_is_called_in_so_weights_are_clamped",
    "test_k13_the_selector_of_a_lease_names_its_pool",
    "test_k14_a_project_without_quota_of_its_own_reclaims_inside_its_teams",
    "test_k15_what_steps_out_while_it_waits_keeps_its_place",
    "test_w_a_called_in_lease_wakes_no_owner_but_the_owners_own_number_does",
]


@pytest.fixture
def scenes(tmp_path: Path) -> Scenes:
    """Scenes on a small Kueue each."""
    return lambda name: FakeScene.on_fake(tmp_path, name)
