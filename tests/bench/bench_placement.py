"""How many MIG requests a pool accepts, by our placement, by first fit and by best fit.

Requests are accepted at once or lost; instances are made where they are placed and never move.

The loads, all deterministic:

- `openb, parts`: pods of the Alibaba trace that ask for less than one GPU, with their own arrival
  and run times; milli-GPUs are rounded up to the eighths of an 80 GB part: 125 is 1g.10gb, 250 is
  2g.20gb, 500 is 3g.40gb, more is 7g.80gb;
- `openb, single`: the same with the pods that ask for one whole GPU, as 7g.80gb;
- `openb, sevenths`: as `openb, single`, but rounded up to compute slices: one seventh is 1g.10gb,
  two 2g.20gb, three 3g.40gb, four 4g.40gb, more 7g.80gb;
- `philly, …`: run times of Microsoft's Philly jobs of a minute to a week, arrivals at random so
  that what is asked for is so many times the memory that there is, profiles at random by the
  weights named, three seeds.

Ours knows only the mix of the last 200 requests. First fit takes the first GPU and the lowest
start, best fit the GPU with the least free memory and the lowest start. Beside them stands what
would be accepted if instances could be moved at no cost: no placement gets much beyond that.
"""

import csv
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

from hub_ext.mig.choosing import Slate, choose
from hub_ext.mig.geometry import Placement, geometry
from hub_ext.mig.layouts import mix_of, ordered, room
from tests.bench.table import Row
from tests.support.reference import reference

MODEL = "h100-80gb"
G1, G2, G3, G4, G7 = "1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"
REMEMBERED = 200
GOAL = 1.10
WEEK_S = 7 * 86400.0

Found = tuple[Slate, Placement] | None
Placer = Callable[[Sequence[Slate], str], Found]


class Request(NamedTuple):
    """One request: when it comes, how long it would run, what it wants."""

    at: float
    runs: float
    profile: str


def rows() -> Iterator[Row]:
    """Each load against first fit; best fit beside it. Nothing where the traces are not given."""
    traces = reference("traces")
    if traces is None:
        return
    for name, count, loads in _loads(traces):
        accepted = {
            placer: sum(accepted_of(load, count, make()) for load in loads)
            for placer, make in PLACERS.items()
        }
        asked = sum(map(len, loads))
        first = accepted["first fit"]
        yield Row(
            f"MIG requests accepted, {name}, {count} GPUs, of {asked:,}",
            f"{accepted['ours']:,}",
            f"first fit {first:,}, best fit {accepted['best fit']:,}, if they could be moved "
            f"{sum(accepted_if_moved(load, count) for load in loads):,}, goal {GOAL:.2f}",
            f"{accepted['ours'] / first:.3f}",
        )


def _loads(traces: Path) -> Iterator[tuple[str, int, list[list[Request]]]]:
    pods = list(csv.DictReader((traces / "openb_pod_list_default.csv").open()))
    single = list(requests_of_pods(pods, up_to_eighths, whole=True))
    for count in (6, 8):
        yield "openb, parts", count, [list(requests_of_pods(pods, up_to_eighths, whole=False))]
    for count in (16, 24, 28):
        yield "openb, single", count, [single]
    for count in (24, 28):
        yield "openb, sevenths", count, [list(requests_of_pods(pods, up_to_sevenths, whole=True))]
    with (traces / "philly_runtime.csv").open() as lines:
        runs = [float(row["runtime"]) for row in csv.DictReader(lines)]
    runs = [min(one, WEEK_S) for one in runs if one >= 60]
    for words, weights in MIXES.items():
        for load in (0.9, 1.0, 1.3):
            drawn = [_drawn(weights, runs, 40, load, seed) for seed in (1, 2, 3)]
            yield f"philly, {words}, load {load}", 40, drawn


MIXES = {
    "all alike": {G1: 1, G2: 1, G3: 1, G4: 1, G7: 1},
    "small and half GPUs (1g 3, 4g 1)": {G1: 3, G4: 1},
    "mostly small (1g 4, 2g 3, 4g 2, 7g 1)": {G1: 4, G2: 3, G4: 2, G7: 1},
}


def requests_of_pods(
    pods: Iterable[dict[str, str]], profile_of: Callable[[int], str], *, whole: bool
) -> Iterator[Request]:
    """Requests of pods that ask for one GPU or, unless `whole`, for a part of one, by arrival."""
    found = [
        Request(
            float(pod["creation_time"]),
            float(pod["deletion_time"]) - float(pod["scheduled_time"]),
            profile_of(int(pod["gpu_milli"])),
        )
        for pod in pods
        if pod["num_gpu"] == "1" and pod["scheduled_time"] and (whole or pod["gpu_milli"] != "1000")
    ]
    return iter(sorted(found))


def up_to_eighths(milli: int) -> str:
    """Profile of so many thousandths of a GPU, rounded up by memory."""
    return next((name for most, name in ((125, G1), (250, G2), (500, G3)) if milli <= most), G7)


def up_to_sevenths(milli: int) -> str:
    """Profile of so many thousandths of a GPU, rounded up by compute slices."""
    steps = ((1, G1), (2, G2), (3, G3), (4, G4))
    return next((name for most, name in steps if milli * 7 <= most * 1000), G7)


def _size(profile: str) -> int:
    shape = geometry(MODEL)
    assert shape is not None
    return shape.profiles[profile].size


def _drawn(
    weights: dict[str, int], runs: list[float], count: int, load: float, seed: int
) -> list[Request]:
    draw = random.Random(seed)
    mean = sum(weight * _size(name) for name, weight in weights.items()) / sum(weights.values())
    every = mean * (sum(runs) / len(runs)) / (load * count * 8)
    at, made = 0.0, []
    for _ in range(3000):
        at += draw.expovariate(1 / every)
        (profile,) = draw.choices(list(weights), list(weights.values()))
        made.append(Request(at, draw.choice(runs), profile))
    return made


def accepted_of(load: Sequence[Request], count: int, place: Placer) -> int:
    """Replay a load on so many empty GPUs; count what found room."""
    slates = [Slate("node", index, MODEL) for index in range(count)]
    ends: list[tuple[float, int, int, Placement]] = []
    accepted = 0
    for request in load:
        while ends and ends[0][0] <= request.at:
            _end, _number, index, gone = heappop(ends)
            left = list(slates[index].taken)
            left.remove(gone)
            slates[index] = Slate("node", index, MODEL, tuple(left))
        found = place(slates, request.profile)
        if found is None:
            continue
        slate, one = found
        taken = ordered((*slate.taken, one))
        slates[slate.gpu] = Slate("node", slate.gpu, MODEL, taken)
        accepted += 1
        heappush(ends, (request.at + request.runs, accepted, slate.gpu, one))
    return accepted


def accepted_if_moved(load: Sequence[Request], count: int) -> int:
    """Count what finds room where free memory is in one piece, and no GPU has two large parts.

    Of `4g` and `7g` there is one start on a GPU, wherever the others are moved.
    """
    left, singles = 8 * count, count
    ends: list[tuple[float, int, int]] = []
    accepted = 0
    for request in load:
        while ends and ends[0][0] <= request.at:
            _end, size, single = heappop(ends)
            left, singles = left + size, singles + single
        size, single = _size(request.profile), int(request.profile in {G4, G7})
        if size <= left and single <= singles:
            left, singles = left - size, singles - single
            accepted += 1
            heappush(ends, (request.at + request.runs, size, single))
    return accepted


def _ours() -> Placer:
    last: deque[str] = deque(maxlen=REMEMBERED)

    def place(slates: Sequence[Slate], profile: str) -> Found:
        last.append(profile)
        return choose(slates, profile, mix_of(Counter(last)))

    return place


def _first_fit() -> Placer:
    def place(slates: Sequence[Slate], profile: str) -> Found:
        fitting = (slate for slate in slates if room(MODEL, slate.taken)[profile])
        return _lowest(next(fitting, None), profile)

    return place


def _best_fit() -> Placer:
    def place(slates: Sequence[Slate], profile: str) -> Found:
        fitting = [slate for slate in slates if room(MODEL, slate.taken)[profile]]
        fullest = max(fitting, key=lambda one: sum(p.size for p in one.taken), default=None)
        return _lowest(fullest, profile)

    return place


def _lowest(slate: Slate | None, profile: str) -> Found:
    if slate is None:
        return None
    start = room(MODEL, slate.taken)[profile][0]
    return slate, Placement(profile, start, _size(profile))


PLACERS: dict[str, Callable[[], Placer]] = {
    "ours": _ours,
    "first fit": _first_fit,
    "best fit": _best_fit,
}
