"""The governor's HTTP API: routes, rights, shapes. The rules are the core's, not its own."""
