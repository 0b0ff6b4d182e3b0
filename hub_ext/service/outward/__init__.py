"""What of the ledger is told outside, and in whose place."""
