"""The policy: rules that people agree on, checked, dated, and resolved for one person."""
