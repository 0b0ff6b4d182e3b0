"""What the GPUs and the processes of each lease do. It reads and reports; it judges nothing."""
