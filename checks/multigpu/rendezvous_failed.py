"""The ranks did not find each other at start

## What it finds
A rank that could not reach the address at which all of them meet, or waited for others that did not come.

## Why it matters
A rank that failed before this point is simply missing, and the others wait ten minutes for it.

## How it is found
By the words of torch's store. Any other fault in the log explains it and is named first.

## Remedy
Look whether a rank failed earlier. Else: the same --dist-init-addr, --nnodes and --nccl-port on all nodes, a port
that is open between them, and an address that is not the loopback's when there are several nodes.

## Sources
- torch 2.11: TCPStore.cpp, socket.cpp
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("multigpu.rendezvous-failed")

SIGNATURES = [
    Signature(
        pattern=r"The client socket has timed out after (?P<limit>\d+)\s?ms while trying to connect to "
        r"\((?P<address>[^)]*)\)"
        r"|Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<there>\d+)/(?P<wanted>\d+) clients "
        r"joined",
        rank="consequence",
        example="torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying "
        "to connect to "
        "(10.0.0.1, 20000).",
        look_alike="The client socket has connected to (10.0.0.1, 20000)",
        source="torch 2.11: socket.cpp, TCPStore.cpp",
        versions="torch 2.x",
        message="The ranks of the server did not find each other in time",
        remedies=(
            LogRemedy("Look whether another rank failed earlier: its log tells why it did not come"),
            LogRemedy(
                "Else compare --dist-init-addr, --nnodes and --node-rank of all nodes, and try the port between them"
            ),
        ),
    ),
]
