"""A node whose pods are local processes, each with an address 127.x.y.z of its own.

It does what a kubelet does as far as the API server and an agent beside it can see, and fails on
command. There are no images, mounts, probes, logs or exec, and no user but its own.
"""
