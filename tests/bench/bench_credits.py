"""One scripted month beside a model of jupyterhub-credit-service 0.4.2: is the total right?"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.table import Row
from tests.support.credit_month import HEARTBEAT_S, Total, a_month, by_governor, by_wallets


def rows() -> Iterator[Row]:
    """Charge the same month both ways."""
    script = a_month()
    wallets = by_wallets(script)
    with tempfile.TemporaryDirectory() as folder:
        ours = by_governor(script, Path(folder) / "state")
    yield Row(
        f"error of a month's total, in GPU-seconds of {ours.held}: 3 crashes and an outage of 6 h",
        _signed(ours),
        f"credit service, modelled: {_signed(wallets)} of {wallets.held}",
        f"{abs(ours.error) / abs(wallets.error):.4f}",
    )
    machine = sum(1 for one in script.away if one.kind == "machine")
    running = 5 * machine
    yield Row(
        "the same against one heartbeat for each server at each crash that ends it",
        f"{abs(ours.error)} s",
        f"limit {running * HEARTBEAT_S} s",
        f"{abs(ours.error) / (running * HEARTBEAT_S):.2f}",
    )
    yield Row(
        "servers started by 3 launches at once with money for 1",
        str(ours.launched),
        f"credit service, modelled: {wallets.launched}",
        f"{ours.launched / wallets.launched:.2f}",
    )


def _signed(total: Total) -> str:
    return f"{total.error:+d} s ({100 * total.error / total.held:+.3f} %)"
