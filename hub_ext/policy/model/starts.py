"""How repeated starts that fail are slowed down."""

from datetime import timedelta

from ..words import Count, Lasting, Part


class StartRules(Part):
    """How repeated starts that fail are slowed down, for the person whose they are alone."""

    failures: Count = 3
    """So many starts of one person in a row that failed are let pass. Default 3: a typing error is
    mended by the second."""
    pause: Lasting = timedelta(seconds=30)
    """How long they wait after that; each further failure doubles it. Default 30s."""
    longest_pause: Lasting = timedelta(minutes=15)
    """How long at most. Default 15m: whoever has mended it shall not wait for hours."""
