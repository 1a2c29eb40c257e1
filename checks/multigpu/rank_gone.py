"""A rank reports that another one is gone: a message, never the cause

## What it finds
Lines of NCCL, gloo and torch's store about a connection that was closed.

## Why it matters
Every rank writes them when one fails, so they outnumber the one line that tells why.

## How it is found
By their words. The cause is in the log of the rank that went first.

## Remedy
Look for the first error among all ranks.

## Sources
- NCCL: ncclRemoteError, ncclSystemError; torch 2.11: TCPStore.cpp, ProcessGroupNCCL.cpp, gloo
"""

from sm120kit.diagnosis import Signature, log_failure

FAILURE = log_failure("multigpu.rank-gone")

SIGNATURES = [
    Signature(
        pattern=r"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting"
        r"|NCCL communicator was aborted|socketPollConnect .* failed|Connection closed by remote peer|socketProgress",
        rank="wrapper",
        example="ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
        "prematurely.",
        look_alike="NCCL INFO comm 0x55 rank 0 nranks 8 - Init COMPLETE",
        source="NCCL: error strings of init.cc",
    ),
    Signature(
        pattern=r"TCPStore.*(?:recvValue failed|sendBytes failed|Broken pipe|Connection "
        r"reset)|\[c10d\].*recvValue failed"
        r"|Connection closed by peer \[|Terminating the entire process|To avoid data inconsistency, we are taking "
        r"the entire",
        rank="wrapper",
        example="[c10d] recvValue failed on SocketImpl(fd=71, addr=[localhost]:42110, remote=[localhost]:33333): "
        "Failed to recv, "
        "got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?",
        look_alike="[c10d] The hostname of the client socket cannot be retrieved. err=-3",
        source="torch 2.11: TCPStore.cpp, ProcessGroupNCCL.cpp",
    ),
    Signature(
        pattern=r"NCCL error(?: in)?: .*(?:unhandled (?:cuda|system) error|internal error)|ncclUnhandledCudaError"
        r"|ncclSystemError: System call|ncclInternalError: ",
        rank="wrapper",
        example="torch.distributed.DistBackendError: NCCL error in: "
        "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:94, "
        "unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.28.9",
        look_alike="NCCL version 2.28.9+cuda13.0",
        source="torch 2.11: ProcessGroupNCCL.cpp",
        versions="torch 2.x; NCCL_DEBUG=WARN makes NCCL tell what failed",
    ),
]
