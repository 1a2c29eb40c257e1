"""Run by path in a child: loads libcuda.so.1 as the loader finds it and calls cuInit. Prints one line.

Standard library alone: the child is started with no site-packages.
"""

import ctypes
import sys

NO_SUCH_DRIVER = 3
"""Exit code where no libcuda.so.1 is on the loader's path."""

CODES = {
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY: what the loader found is a stub for linking, not the driver",
    100: "CUDA_ERROR_NO_DEVICE: the driver sees no GPU",
    101: "CUDA_ERROR_INVALID_DEVICE",
    802: "CUDA_ERROR_SYSTEM_NOT_READY: the NVSwitch fabric is not up",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: the library and the kernel module are of different driver versions",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: a forward-compatibility library on a GPU that does not allow it",
    999: "CUDA_ERROR_UNKNOWN",
}


def main() -> int:
    """0: loaded and started. 3: no such library. 1: anything else, named on standard error."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        absent = str(error).startswith("libcuda.so.1: cannot open shared object file")
        return NO_SUCH_DRIVER if absent else 1
    code = int(library.cuInit(0))
    if code == 0:
        return 0
    print(f"error: cuInit returned {code} ({CODES.get(code, 'see cuda.h')})", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
