"""What every request has in common: who calls, what the body says, how errors look."""
