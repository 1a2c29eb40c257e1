"""The version of this tool; the one place that holds it."""

__version__ = "0.1.0"
