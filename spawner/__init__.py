"""What runs inside the hub process: a spawner that asks, applies the grant and reports."""

__product__ = "gpu-commons"
