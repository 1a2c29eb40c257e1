"""How a stand-in loads: the phases of the genuine server, their log lines in the wording of its version, and the
simulated memory that each of them takes.

Every "GB" in these lines is a GiB (2^30 bytes).
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from sm120kit.fleet.rehearsal.allocations import OutOfMemoryError, allocate, used
from sm120kit.fleet.rehearsal.log import plain, say
from sm120kit.fleet.rehearsal.profile import Profile

_GIB = 1 << 30
_SHARDS = 4
_CONVOLUTION = 0.02
"""Share of a Gated DeltaNet state that belongs to its convolution."""

_GRAPHS = (1, 2, 4, 8, 16, 24, 32)

SHARES = {"starting": 0.2, "weights": 0.35, "pools": 0.05, "graphs": 0.3}
"""Of the time to load; what is left is the warm-up."""

_GRAPHS_FAILED = (
    "Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
    "{total:.2f} GiB of which 12.50 MiB is free.\n"
    "Possible solutions:\n"
    "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set {option} to a smaller value (e.g., 16)\n"
    "3. disable torch compile by not using --enable-torch-compile\n"
    "4. disable CUDA graph by {disable}. (Not recommended. Huge performance loss)\n"
)


class LoadError(Exception):
    """The scheduler cannot go on; its text is the last line of a traceback."""


class Loading:
    """One scheduler while it loads."""

    def __init__(self, profile: Profile, settings: dict[str, Any], begun: float) -> None:
        self.profile, self.settings = profile, settings
        self.begun = begun
        self.new = profile.wording == "0.5.23"
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        self.gpus = tuple(visible.split(",")) if visible and profile.gpus else tuple(profile.gpus)
        self.store: socket.socket | None = None
        self.rank = " TP0" if (settings.get("tp_size") or 1) > 1 else ""
        self._share = 0.0

    def say(self, text: str) -> None:
        """One line of the scheduler."""
        if self.rank:
            plain(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{self.rank}] {text}\n")
        else:
            say(text)

    def load(self) -> None:
        """Everything, in its order.

        Raises:
            LoadError: as the genuine one would end.
        """
        self._until(SHARES["starting"])
        self._connect()
        self._weights()
        self._pools()
        if self.gpus:
            self._graphs()
        else:
            self._until(SHARES["graphs"])
        requested = self.settings.get("max_running_requests")
        if self.new and requested and self.profile.granted < requested:  # 0.5.12 says nothing of it
            self.say(
                f"max_running_requests was reduced from the requested {requested} to {self.profile.granted} (per dp "
                "worker) due to the available KV cache capacity."
            )
        place = "gpu" if self.gpus else "cpu"
        chunk = self.settings.get("chunked_prefill_size") or 8192
        self.say(
            f"max_total_num_tokens={self.profile.tokens}, chunked_prefill_size={chunk}, "
            f"max_prefill_tokens={self.settings.get('max_prefill_tokens') or 16384}, "
            f"max_running_requests={self.profile.granted}, context_len={self.profile.context}, "
            f"available_{place}_mem={self._free():.2f} GB"
        )

    def _connect(self) -> None:
        self.say("Init parallel begin." if self.new else "Init torch distributed begin.")
        port = self.settings.get("nccl_port")
        if port:
            self.store = socket.socket()
            self.store.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                self.store.bind(("127.0.0.1", port))
                self.store.listen()
            except OSError as error:
                raise LoadError(
                    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network "
                    f"address. port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in "
                    "use"
                ) from error
        before = self._free()
        self._hold(self.profile.context_memory)
        usage = f"mem usage={before - self._free():.2f} GB"
        if self.new:
            self.say("Init parallel ends. elapsed=0.05 s")
            self.say(f"Memory baseline taken. {usage}")
        else:
            self.say(f"Init torch distributed ends. elapsed=0.06 s, {usage}")

    def _weights(self) -> None:
        before = self._free()
        self.say(f"Load weight begin. avail mem={before:.2f} GB")
        begun = time.monotonic()
        for shard in range(_SHARDS + 1):
            if shard:
                self._until(SHARES["weights"] / _SHARDS)
                self._hold(self.profile.weights // _SHARDS)
            elapsed = int(time.monotonic() - begun)
            plain(
                f"\rLoading safetensors checkpoint shards: {shard * 100 // _SHARDS:3d}% Completed | {shard}/{_SHARDS} "
                f"[00:{elapsed:02d}<00:00,  {_SHARDS / max(self.profile.load_s, 0.01):.2f}it/s]"
            )
        plain("\n")
        after = self._free()
        self.say(
            f"Load weight end. elapsed={time.monotonic() - begun:.2f} s, type={self.profile.architecture}, "
            f"avail mem={after:.2f} GB, mem usage={before - after:.2f} GB."
        )

    def _pools(self) -> None:
        self._until(SHARES["pools"])
        self._hold(self.profile.pool)
        if self.profile.state_slots:
            states, convolution = self.profile.state_pool / _GIB, self.profile.state_pool * _CONVOLUTION / _GIB
            self.say(
                f"Mamba Cache is allocated. max_mamba_cache_size: {self.profile.state_slots}, conv_state size: "
                f"{convolution:.2f}GB, ssm_state size: {states - convolution:.2f}GB "
            )
        half = self.profile.kv_pool / 2 / _GIB
        dtype = "dtype: torch.bfloat16, " if self.new else ""
        if not self.new:
            self.say("Using KV cache dtype: torch.bfloat16")
        self.say(
            f"KV Cache is allocated. {dtype}#tokens: {self.profile.tokens}, K size: {half:.2f} GB, "
            f"V size: {half:.2f} GB"
        )
        self.say(f"Memory pool end. avail mem={self._free():.2f} GB")

    def _graphs(self) -> None:
        free = self._free()
        if self.new:
            self.say(
                f"Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem={free:.2f} GB"
            )
        else:
            self.say(f"Capture cuda graph begin. This can take up to several minutes. avail mem={free:.2f} GB")
            self.say(f"Capture cuda graph bs {list(_GRAPHS)}")
        begun = time.monotonic()
        for number, size in enumerate(reversed(_GRAPHS)):
            plain(
                f"\rCapturing batches (bs={size} avail_mem={self._free():.2f} GB): "
                f"{number * 100 // len(_GRAPHS):3d}%|          | {number}/{len(_GRAPHS)} [00:00<00:00,  9.00it/s]"
            )
            if number == len(_GRAPHS) // 2 and "crash-at-graphs" in self.profile.faults:
                plain("\n")
                raise LoadError(f"Exception: {self._graphs_failed()}")
            self._until(SHARES["graphs"] / len(_GRAPHS))
            self._hold(self.profile.graphs // len(_GRAPHS))
        plain("\n")
        after, took = self._free(), time.monotonic() - begun
        if self.new:
            self.say(
                f"Capture target decode CUDA graph end. bs={list(_GRAPHS)}, elapsed={took:.2f} s, "
                f"mem usage={free - after:.2f} GB, avail mem={after:.2f} GB."
            )
        else:
            self.say(
                f"Capture cuda graph end. Time elapsed: {took:.2f} s. mem usage={free - after:.2f} GB. "
                f"avail mem={after:.2f} GB."
            )

    def _graphs_failed(self) -> str:
        option, disable = ("--cuda-graph-max-bs", "--disable-cuda-graph")
        if self.new:
            option, disable = ("--cuda-graph-max-bs-decode", "--cuda-graph-backend-decode=disabled")
        return _GRAPHS_FAILED.format(total=self.profile.memory_total / _GIB, option=option, disable=disable)

    def _until(self, share: float) -> None:
        """Wait until so much more of the time to load has passed."""
        self._share += share
        time.sleep(max(0.0, self.begun + self._share * self.profile.load_s - time.monotonic()))

    def _free(self) -> float:
        """GiB free on the fullest of its GPUs."""
        taken = max((used(self.profile.gpu_folder, gpu) for gpu in self.gpus), default=0)
        return (self._room() - taken) / _GIB

    def _room(self) -> int:
        """Bytes of one GPU that are there for servers."""
        return self.profile.memory_total - self.profile.memory_before

    def _hold(self, size: int) -> None:
        leaked = "leaks-memory" in self.profile.faults
        try:
            for gpu in self.gpus:
                allocate(self.profile.gpu_folder, gpu, size, total=self._room(), leaked=leaked)
        except OutOfMemoryError as full:
            raise LoadError(
                f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {full.wanted / _GIB:.2f} GiB. GPU 0 "
                f"has a total capacity of {self.profile.memory_total / _GIB:.2f} GiB of which {full.free / _GIB:.2f} "
                "GiB is free."
            ) from full
