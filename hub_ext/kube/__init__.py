"""The governor on Kubernetes: what each thing is called there, leases as Kueue's Workloads.

Only `workloads` and what it is made of call the API; the rest is pure.
"""
