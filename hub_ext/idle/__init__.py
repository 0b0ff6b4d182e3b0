"""Judge from readings whether a lease is idle, with the evidence. Acts on nothing.

Unknown is never idle. The GPU and what feeds it must both be quiet for the whole limit; what a
server says of itself can hold that off for a while, and can never bring it about.
"""

from .choosing import lookback, looking_again, rule_for, rule_of
from .evidence import Readings
from .judging import Judged, exempted, judge, judge_on
from .tracks import STALE_PERIODS, Clocks

__all__ = [
    "STALE_PERIODS",
    "Clocks",
    "Judged",
    "Readings",
    "exempted",
    "judge",
    "judge_on",
    "lookback",
    "looking_again",
    "rule_for",
    "rule_of",
]
