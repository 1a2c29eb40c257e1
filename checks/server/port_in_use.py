"""The port is taken by another process

## What it finds
A server that could not bind its port.

## Why it matters
SGLang loads the whole model before it binds. Its warm-up request then reaches the server that does own the port, gets
an answer, and the log says `The server is fired up and ready to roll!` although this server is about to end.

## How it is found
By the words of uvicorn, of SGLang's own test of a port, and of its router.

## Remedy
Find who owns the port, end it or take another port. Ports count as taken on every address of the machine when the owner
listens on 0.0.0.0.

## Sources
- SGLang 0.5.12 and 0.5.23 run on a port that another server of theirs owned
- SGLang 0.5.12: server_args.py (PortArgs), entrypoints/engine.py; sglang-router 0.3.2
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.port-in-use")

_REMEDIES = (
    LogRemedy("See which process owns port {port}", ("ss -ltnp 'sport = :{port}'",)),
    LogRemedy("Start this server on another port, with --port"),
)

SIGNATURES = [
    Signature(
        pattern=r"\[Errno 98\] error while attempting to bind on address \('(?P<host>[^']*)', (?P<port>\d+)",
        rank="cause",
        example="ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 31021): address "
        "already in use",
        look_alike="ERROR:    [Errno 99] error while attempting to bind on address ('10.0.0.9', 31021): cannot assign "
        "requested address",
        source="SGLang 0.5.12 and 0.5.23 on a taken port",
        versions="uvicorn",
        message="Port {port} on {host} belongs to another process; a later 'fired up and ready to roll' in this "
        "log was "
        "that process answering",
        remedies=_REMEDIES,
    ),
    Signature(
        pattern=r"(?:bootstrap_port (?P<port>\d+) is already in use|Port is already in use\. )",
        rank="cause",
        example="RuntimeError: engine_info_bootstrap_port 6789 is already in use. When running multiple instances "
        "on the "
        "same node, each instance must use a different --engine-info-bootstrap-port.",
        look_alike="Port 30000 is already in use, trying port 30001",
        source="SGLang 0.5.12: entrypoints/engine.py, server_args.py",
        versions="SGLang 0.5.12 and later",
        message="A port that the server needs beside its own belongs to another process",
        remedies=(
            LogRemedy(
                "Give each server of this machine its own: --engine-info-bootstrap-port, --nccl-port, --dist-init-addr"
            ),
        ),
    ),
    Signature(
        pattern=r"Address already in use \((?:os error 98|addr='(?P<address>[^']*)')\)|EADDRINUSE",
        rank="cause",
        example="RuntimeError: Address already in use (os error 98)",
        look_alike="SO_REUSEADDR is set: an address in use can be bound again",
        source="sglang-router 0.3.2; zmq.error.ZMQError of pyzmq; torch's TCPStore",
        message="An address that the process wants to listen on belongs to another process",
        remedies=(LogRemedy("See which processes listen, and take another port", ("ss -ltnp",)),),
    ),
]
