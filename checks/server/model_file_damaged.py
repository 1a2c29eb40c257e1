"""A file of weights is missing, cut off or damaged

## What it finds
Weights that are not there or cannot be read: a download that was interrupted, a Git LFS pointer in place of the file,
a disk that was full.

## Why it matters
The server fails minutes into loading, with words about headers and metadata.

## How it is found
By the words of safetensors and of torch's reader of archives.

## Remedy
Compare the sizes of the files with those of the repository and download again what differs. A file of about 130 bytes
is a Git LFS pointer: run git lfs pull.

## Sources
- safetensors: src/tensor.rs (errors of deserialisation); torch: caffe2/serialize/inline_container.cc
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.model-file-damaged")

_REMEDY = LogRemedy(
    "Find the file whose size differs from the repository's, and download it again; one of about 130 bytes is a "
    "Git LFS "
    "pointer",
    ("find -L MODEL_PATH -name '*.safetensors' -size -1k",),
)

SIGNATURES = [
    Signature(
        pattern=r"^FileNotFoundError: (?:\[Errno 2\] )?No such file or directory: "
        r"[\"'](?P<path>[^\"']+\.(?:safetensors|bin|pt))[\"']",
        rank="cause",
        example='FileNotFoundError: No such file or directory: "/root/Qwen1.5-7B/model-00001-of-00004.safetensors"',
        look_alike='FileNotFoundError: No such file or directory: "/root/Qwen1.5-7B/notes.txt"',
        source="hiyouga/LlamaFactory#3340; lyogavin/airllm#214",
        message="The weights are not whole: {path} is named by their index and not there",
        remedies=(
            LogRemedy(
                "Compare the folder with its index, and download again what is missing", ("ls -lL $(dirname {path})",)
            ),
            LogRemedy(
                "If it is a link into a cache that was not mounted: mount that folder too", ("readlink -f {path}",)
            ),
        ),
    ),
    Signature(
        pattern=r"SafetensorError: Error while deserializing header: (?P<reason>\w+)",
        rank="cause",
        example="safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        look_alike="safetensors_rust.SafetensorError: File does not contain tensor model.embed_tokens.weight",
        source="safetensors: src/tensor.rs",
        message="A file of weights cannot be read ({reason}): it is cut off, or no such file at all",
        remedies=(_REMEDY,),
    ),
    Signature(
        pattern=r"PytorchStreamReader failed (?:reading zip archive|locating file)",
        rank="cause",
        example="RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
        look_alike="PytorchStreamReader opened 17 records",
        source="torch: caffe2/serialize/inline_container.cc",
        message="A file of weights (*.bin or *.pt) cannot be read: it is cut off, or no such file at all",
        remedies=(_REMEDY,),
    ),
]
