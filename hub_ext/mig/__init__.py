"""MIG geometry as data and rules: what a GPU can be cut into, and which free device to take."""
