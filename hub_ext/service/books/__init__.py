"""What the core works with: the ledger, the policy in force, and what is kept in memory of both."""
