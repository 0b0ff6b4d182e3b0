"""One lease from its ask to its end, and every account of why it stands as it does."""
