"""A file of weights is cut off or damaged

## What it finds
Weights that cannot be read: a download that was interrupted, a Git LFS pointer in place of the file, a disk that was
full.

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
