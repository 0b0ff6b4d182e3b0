"""A real Kubernetes control plane without containers, for the tests that need one."""
