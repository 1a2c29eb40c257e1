"""A program beside SGLang's server refuses an argument of its command line

## What it finds
A value that an option does not take, an option that is not there, or one without its value, on the command line of a
router, of vLLM, or of any other program that reads it with argparse. For SGLang's server see
`sglang.argument-renamed`.

## Why it matters
Usage texts fill hundreds of lines before the one that says what is wrong. The program ends with exit code 2.

## How it is found
By the words of Python's argparse in the last line.

## Remedy
Look at what this very version takes, with --help: names and values of options change between releases.

## Sources
- Python: argparse
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.argument-refused")

_HELP = LogRemedy("See what this version takes, with --help, and mind that a variable in a script may be empty")

_OTHERS = (
    r"^(?!.*(?:sglang serve|launch_server\.py|http_server\.py|\bsglang): error: )(?P<program>[\w.-]+(?: "
    r"[\w-]+)?): error: "
)

SIGNATURES = [
    Signature(
        pattern=_OTHERS
        + r"argument (?P<option>--?[\w/-]+)[^:]*: (?P<reason>(?:invalid|expected|not allowed|ignored) .*)",
        rank="cause",
        example="launch_router.py: error: argument --policy: invalid choice: 'nope' (choose from 'random', "
        "'round_robin')",
        look_alike="sglang serve: error: argument --attention-backend: invalid choice: 'nope' (choose from "
        "'triton', 'fa3')",
        source="Python: argparse; sglang-router 0.3.2",
        message="{program} does not take its argument {option}: {reason}",
        remedies=(_HELP,),
    ),
    Signature(
        pattern=_OTHERS
        + r"(?P<reason>unrecognized arguments: .*|ambiguous option: .*|the following arguments are required: .*)",
        rank="cause",
        example="vllm serve: error: unrecognized arguments: --mem-fraction-static 0.8",
        look_alike="vllm serve: unrecognized arguments are ignored",
        source="Python: argparse",
        message="{program} was called with {reason}",
        remedies=(_HELP,),
    ),
]
