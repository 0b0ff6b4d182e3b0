"""Usage as tables and figures: sums and pictures of what the ledger recorded; nothing decides."""
