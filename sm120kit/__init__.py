"""Doctor and provisioner for CUDA inference stacks on NVIDIA Blackwell."""

from sm120kit.version import __version__

__all__ = ["__version__"]
