"""A toolkit of wheels in a few tiny files, broken as pip leaves the real ones: no lib64, no libcudart.so, no stub.

Its nvcc is a script that makes what a proof looks for, in milliseconds. Linking is done by the real compiler.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.snapshot.toolkit_trees import PROFILE_130, cccl, crt, runtime_headers

_NVCC = r"""#!/bin/sh
# Stands in for nvcc: it makes what it is asked for. $PLANT, if set, is run once first.
if [ -n "${PLANT-}" ]; then eval "$PLANT"; fi
while [ $# -gt 0 ]; do
  case $1 in -o) out=$2; shift ;; -MF) listing=$2; shift ;; -E) mode=E ;; -c) mode=c ;; esac
  shift
done
if [ "$mode" = E ]; then
  echo '__float2half is_same DeviceRadixSort sm120kit_read_to_its_end' > "$out"
else
  echo 'kernel.o: /dev/null' > "$listing"
  printf '%s\n' '.section .nv_fatbin,"a"' '.long 0xba55ed50' '.short 1, 16' '.quad 32' \
    '.short 2, 0x101' '.long 32' '.quad 0' '.long 0, 0' '.short 0, 0' '.long 120' | as -o "$out" -
fi
"""


@dataclass(frozen=True)
class Tiny:
    """Where it lies."""

    site_packages: Path
    cuda_home: Path


def make_tiny_toolkit(folder: Path) -> Tiny:
    """Lay it down below ``folder``/site-packages, each part owned by its wheel."""
    site_packages = folder / "site-packages"
    declared = "".join(f"CUresult CUDAAPI cuFunction{number}(void);\n" for number in range(120))
    headers = {f"include/{name}": text.encode() for name, text in runtime_headers().items()}
    headers["include/cuda_pipeline.h"] = b""
    headers["include/cuda.h"] += f"CUresult CUDAAPI cuInit(unsigned int Flags);\n{declared}".encode()
    tools = {f"bin/{name}": b"\x7fELF" for name in ("ptxas", "fatbinary", "cudafe++", "nvlink")}
    tools |= {"bin/nvcc": _NVCC.encode(), "bin/nvcc.profile": PROFILE_130.encode()}
    _wheel(site_packages, "nvidia_cuda_nvcc", "13.0.88", tools, mode=0o755)
    nvvm = {"nvvm/bin/cicc": b"\x7fELF", "nvvm/libdevice/libdevice.10.bc": b"BC"}
    _wheel(site_packages, "nvidia_nvvm", "13.0.88", nvvm, mode=0o755)
    _wheel(site_packages, "nvidia_cuda_crt", "13.0.88", _in_include(crt()))
    runtime = {"lib/libcudart.so.13": _libcudart(folder), "lib/libcudadevrt.a": b"!<arch>\n"}
    _wheel(site_packages, "nvidia_cuda_runtime", "13.0.96", {**headers, **runtime, "lib/libcudart_static.a": b""})
    _wheel(site_packages, "nvidia_cuda_cccl", "13.0.85", _in_include(cccl()))
    return Tiny(site_packages, site_packages / "nvidia/cu13")


def _in_include(files: Mapping[str, str]) -> dict[str, bytes]:
    return {f"include/{name}": text.encode() for name, text in files.items()}


def _libcudart(folder: Path) -> bytes:
    made = folder / "libcudart.so.13"
    command = ["gcc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-Wl,-soname,libcudart.so.13", "-o", str(made)]
    subprocess.run(command, input=b"int cudaGetDeviceCount(int *count) { return *count = 0; }\n", check=True)
    content = made.read_bytes()
    made.unlink()
    return content


def _wheel(site_packages: Path, name: str, version: str, files: Mapping[str, bytes], mode: int = 0o644) -> None:
    info = site_packages / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    rows = []
    for path, content in files.items():
        place = site_packages / "nvidia/cu13" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(mode)
        rows.append(f"{os.path.relpath(place, site_packages)},sha256=0,{len(content)}")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("\n".join(rows) + "\n")
