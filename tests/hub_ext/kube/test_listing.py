"""The list of scenarios at the end of a run: each once, and what failed is never called ok."""

from dataclasses import dataclass

from tests.support.kube_listing import SCENARIOS, listing


@dataclass
class Told:
    nodeid: str
    capstdout: str
    outcome: str = "passed"


def node(name: str) -> str:
    return f"tests/controlplane/test_contract_taken.py::test_{name}_story"


def test_each_scenario_has_a_line_and_what_failed_says_so() -> None:
    lines = list(
        listing(
            [
                Told(node("k1"), "K1: ok: exactly one (5.1 s)\n"),
                Told(node("k2"), "K2: ok: printed, and then it failed\n", "failed"),
                Told(node("w"), "W: ok: nobody wakes\n"),
                Told(node("w"), "", "passed"),
                Told("tests/hub_ext/kube/test_fake_contract.py::test_k3_story", "K3: ok: fake\n"),
            ]
        )
    )
    assert lines[:3] == ["K1  ok: exactly one (5.1 s)", "K2  failed", "W   ok: nobody wakes"]
    assert lines[3:] == [f"not run: {', '.join(f'K{n}' for n in range(3, 16))}"]


def test_a_whole_run_lists_sixteen_and_nothing_else() -> None:
    told = [Told(node(name.lower()), f"{name}: ok: so\n") for name in reversed(SCENARIOS)]
    assert [line.split()[0] for line in listing(told)] == list(SCENARIOS)
    assert len(SCENARIOS) == 16


def test_a_run_without_the_contract_lists_nothing() -> None:
    assert list(listing([Told("tests/test_house.py::test_k1_story", "K1: ok: no\n")])) == []
