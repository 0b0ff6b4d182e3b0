"""`python -P -m hub_ext COMMAND`: how a hub starts our services with its own interpreter."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
