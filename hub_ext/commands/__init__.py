"""One module a subcommand of `gpu-commons`; each has `add_arguments(parser)` and `run(args)`."""
