"""What works beside the core's thread: recurring loops, and hands that act on the outside."""
