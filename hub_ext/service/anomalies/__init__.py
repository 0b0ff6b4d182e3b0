"""What is odd about how GPUs are used, and what is done about it."""
