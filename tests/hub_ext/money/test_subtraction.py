"""Nobody learns what another one spent from sums that they see and what they know of their own.

Each amount of this site is a prime number of micro-units, so that it, and each sum of some of
them, is known again wherever it stands.
"""

import json
from datetime import timedelta
from itertools import chain, combinations
from pathlib import Path

from hub_ext.lease import Posting, TeamName, UserName
from tests.hub_ext.service.api.stories import at_the_door
from tests.support.governing import POLICY, START
from tests.support.identities import Door
from tests.support.ledger_parts import a_posting

BUDGETS = """\
budgets:
  month: {team: vision, amount: "100", steps: [{at: 50, act: tell}]}
  other: {team: speech, amount: "100", steps: [{at: 50, act: tell}]}
"""
RULES = POLICY.replace("idle: enforce", "idle: enforce, budget: enforce") + BUDGETS

SPENT = {"vera": 1_000_003, "viktor": 7_000_003, "sam": 3_000_017, "lars": 5_000_011}
"""By person: vera and viktor are vision, led by lena; sam and lars are speech, led by lars."""

TEAM = {"vera": "vision", "viktor": "vision", "sam": "speech", "lars": "speech"}

PAGES = (
    "usage?scope=me&window=30d",
    "spend?scope=me&window=30d&aggregate=team,project,user,profile,pool",
    "waste?scope=me&window=30d&aggregate=user",
    "usage?scope=team:vision&window=30d",
    "spend?scope=team:vision&window=30d&aggregate=user",
    "waste?scope=team:vision&window=30d&aggregate=user",
    "usage?scope=all&window=30d",
    "spend?scope=all&window=30d",
    "waste?scope=all&window=30d",
    "fleet?window=30d",
    "limits",
    "queue",
    "offers",
    "leases",
    "waits",
    "anomalies",
    "teams/vision/outlook",
    "teams/speech/outlook",
    "months",
    "reservations",
)


def charges() -> list[Posting]:
    found = []
    for user, micro in SPENT.items():
        found.append(
            a_posting(
                f"L-{user}",
                user=UserName(user),
                team=TeamName(TEAM[user]),
                start=0,
                end=0,
                amount_micro=micro,
            ).model_copy(
                update={
                    "start": START - timedelta(hours=9),
                    "end": START - timedelta(hours=8),
                    "seconds": 3600,
                    "price_micro_per_hour": micro,
                }
            )
        )
    return found


def sums() -> dict[int, frozenset[str]]:
    """Every sum that anything could show, and of whom it tells."""
    people = list(SPENT)
    groups = chain.from_iterable(combinations(people, size) for size in range(1, len(people) + 1))
    return {sum(SPENT[one] for one in group): frozenset(group) for group in groups}


def told(text: str, amount: int) -> set[frozenset[str]]:
    """Of whom an answer tells: by what they spent, or by what it leaves of an amount."""
    return {
        who for micro, who in sums().items() if str(micro) in text or str(amount - micro) in text
    }


def test_property_16_what_is_seen_tells_of_nobody_else(tmp_path: Path) -> None:
    seen: dict[str, set[frozenset[str]]] = {}

    async def story(door: Door) -> None:
        site = door.site
        with site.ledger.transaction() as tx:
            tx.post(charges(), at=site.now)
        door.hub.person("sam", "sam", groups=("speech",))
        for role in ("owner", "teammate", "lead", "other-lead", "admin", "sam"):
            seen[role] = set()
            for page in PAGES:
                answer = await door.call("GET", page, role)
                if answer.code == 200:
                    body = json.dumps(json.loads(answer.body))
                    seen[role] |= told(body, 100_000_000)

    at_the_door(tmp_path, story, policy=RULES)
    vision, speech = frozenset({"vera", "viktor"}), frozenset({"sam", "lars"})
    # A member: their own. Neither a colleague, nor a sum that leaves one when theirs is taken off.
    assert seen["owner"] == {frozenset({"vera"})}
    assert seen["teammate"] == {frozenset({"viktor"})}
    assert seen["sam"] == {frozenset({"sam"})}
    # A lead: their team and each in it, and nothing of the other, alone or in a sum with theirs.
    assert seen["lead"] == {vision, frozenset({"vera"}), frozenset({"viktor"})}
    assert seen["other-lead"] <= {speech, frozenset({"sam"}), frozenset({"lars"})}
    assert vision | speech in seen["admin"]
