"""GPUs for a time to come: made, kept free, claimed, given up."""
