"""How much memory a lease's part of a GPU has, as its model's and its profile's names say."""

import re

from ..units import parse_bytes

_NAMED = re.compile(r"(?:^|[-.])(\d{1,4})gb(?:$|[-+.])")


def memory_bytes(
    model: str, *, gpus: int = 1, mig_profile: str | None = None, shared_by: int | None = None
) -> int | None:
    """Tell the GPU memory of whole GPUs together, of an instance, or of an even share.

    The names are rounded, and the driver keeps some: what is usable is a few percent less. None
    where the name tells nothing.
    """
    found = _NAMED.search(mig_profile or model)
    if found is None:
        return None
    whole = parse_bytes(f"{found[1]}GiB")
    if mig_profile is not None:
        return whole
    return whole // shared_by if shared_by else whole * max(1, gpus)
