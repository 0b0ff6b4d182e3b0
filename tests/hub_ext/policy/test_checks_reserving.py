"""What may be reserved and had alone is checked against the rest of the policy."""

import pytest

from hub_ext.policy.load import loads
from tests.support.governing import POLICY

POOL = "nodes: [{name: node-2, gpus: 3}]\n"


def warnings(extra: str, *changes: tuple[str, str]) -> list[str]:
    text = POLICY.replace(POOL, f"{POOL}    {extra}\n")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    found = [one.message for one in loads(text).warnings]
    return [words for words in found if "reserved" in words or "alone" in words]


def test_a_sound_one_has_no_warning() -> None:
    assert warnings('reservable: {most: "2"}') == []
    assert warnings("exclusive: [gpu, node]") == []


@pytest.mark.parametrize(
    ("extra", "changes", "words"),
    [
        ('reservable: {most: "9"}', (), "9 GPUs may be reserved, and the pool has 3"),
        (
            'reservable: {most: "2"}',
            (
                ('whole: {nominal: "1", borrowing_limit: "1"}', 'whole: {nominal: "0"}'),
                ('whole: {nominal: "2"}', 'whole: {nominal: "0"}'),
            ),
            "no team has a guarantee here, so nothing can be reserved",
        ),
        (
            "exclusive: [gpu]",
            (("projects:\n  maps: {team: vision}\n", ""),),
            "no project is there that could have anything alone",
        ),
    ],
)
def test_what_can_never_be_is_told(
    extra: str, changes: tuple[tuple[str, str], ...], words: str
) -> None:
    assert words in warnings(extra, *changes)


def test_a_machine_of_two_pools_cannot_be_had_alone() -> None:
    with pytest.raises(Exception, match="is also in pool 'mig'"):
        warnings("exclusive: [node]", ("name: node-1", "name: node-2"))
