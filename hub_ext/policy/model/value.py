"""What spend is held against: classes of projects, and from which price on a purpose is asked."""

from ..words import Name, Part, Price, Title


class ValueRules(Part):
    """What people say of their work beside its cost."""

    classes: dict[Name, Title] = {}
    """Classes of value, by name, in the order of reports, for example `{core: Core research}`;
    each project names its own. None means that spend is not told apart so."""
    purpose_above: Price | None = None
    """Price of an hour above which a lease needs a purpose in a few words. What has no price needs
    one as well: nobody knows that it is cheap. Absent means that nobody has to say one."""
