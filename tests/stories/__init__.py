"""Stories told in YAML: a state, requests, and what is expected of each decision in words."""
