"""SGLang: its flags in every version, and how one version reads a launch line."""

from sm120kit.engines.sglang.flags import flag_table, nearest_version, versions
from sm120kit.engines.sglang.launch_line import read_launch_line

__all__ = ["flag_table", "nearest_version", "read_launch_line", "versions"]
