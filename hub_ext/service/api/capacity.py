"""What lies where on each GPU, for admins and the command line on the hub's machine alone."""

from .devices import DeviceDoor


class CapacityHandler(DeviceDoor):
    """`GET capacity`: every GPU of the pools, from end to end."""

    async def get(self) -> None:
        """Show them."""
        self.answer(await self.core.run(lambda core, now: core.capacity(now=now)))
