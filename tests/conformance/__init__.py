"""Other people's test suites, run against our spawners; what passes is kept, and only grows."""
