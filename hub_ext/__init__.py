"""Rules, ledger and the hub service of GPU Commons."""

__product__ = "gpu-commons"
__version__ = "0.1.0.dev0"
