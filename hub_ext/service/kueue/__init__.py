"""What is wanted of Kueue and what is seen there, as data."""
