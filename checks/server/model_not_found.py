"""The model is not where the server looks for it, or is no model

## What it finds
A model path that does not exist, that holds no config.json or no weights, or a repository that cannot be reached.

## Why it matters
A path that does not exist is taken for the name of a repository, so the message speaks of repositories and their form.
Inside containers the usual reason is a folder that was not mounted, or mounted under another path.

## How it is found
By the words of huggingface_hub, transformers and SGLang's loader.

## Remedy
Look at the path from inside the container, as the user that the server runs as. A model folder holds config.json, the
tokenizer's files and weights (*.safetensors). For a repository, check its name, the token, and whether HF_HUB_OFFLINE
forbids the download.

## Sources
- SGLang 0.5.23 run with a path that is not there, and with a folder without config.json
- SGLang 0.5.12: model_loader/loader.py; transformers 5.19.0; huggingface_hub
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.model-not-found")

_LOOK = LogRemedy(
    "Look at it from where the server runs (in its container, as its user): it must hold config.json and weights",
    ("ls -l {path}",),
)

SIGNATURES = [
    Signature(
        pattern=r"Repo id must be in the form '[^']*' or '[^']*': '(?P<path>/[^']*|\.[^']*)'",
        rank="cause",
        example="OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/models/does-not-exist'. "
        "Use `repo_type` argument if needed.",
        look_alike="Repo id must be in the form 'repo_name' or 'namespace/repo_name': see the documentation",
        source="SGLang 0.5.23 with a model path that is not there",
        versions="huggingface_hub",
        message="There is no folder {path}, so it was taken for the name of a repository",
        remedies=(_LOOK,),
    ),
    Signature(
        pattern=r"Unrecognized model in (?P<path>\S+)\. Should have a `model_type` key in its config\.json",
        rank="cause",
        example="ValueError: Unrecognized model in /models/empty. Should have a `model_type` key in its config.json.",
        look_alike="Unrecognized keys in `rope_parameters`: {'factor'}",
        source="SGLang 0.5.23 with a folder that holds no config.json",
        versions="transformers 4 and 5",
        message="{path} holds no config.json that names a model type",
        remedies=(_LOOK,),
    ),
    Signature(
        pattern=r"Cannot find any model weights with `(?P<path>[^`]*)`",
        rank="cause",
        example="RuntimeError: Cannot find any model weights with `/models/qwen3`",
        look_alike="Loading safetensors checkpoint shards:   0% Completed | 0/17 [00:00<?, ?it/s]",
        source="SGLang 0.5.12: model_loader/loader.py",
        versions="SGLang 0.5.x, vLLM",
        message="{path} holds no weights",
        remedies=(
            LogRemedy(
                "Look for *.safetensors there; links that point out of the mounted folder count as missing",
                ("ls -lL {path}",),
            ),
        ),
    ),
    Signature(
        pattern=r"OSError: (?P<path>\S+) (?:does not appear to have a file named (?P<file>[\w.]+)|is not a local "
        r"folder and "
        r"is not a valid model identifier)",
        rank="cause",
        example="OSError: /models/qwen3 does not appear to have a file named config.json. Checkout "
        "'https://huggingface.co//models/qwen3/tree/main' for available files.",
        look_alike="OSError: [Errno 2] No such file or directory: '/models/qwen3/notes.txt'",
        source="transformers: utils/hub.py",
        versions="transformers 4 and 5",
        message="{path} is no model: the file that tells what it is is not there",
        remedies=(_LOOK,),
    ),
    Signature(
        pattern=r"^\S*(?:Error|Timeout): .*(?:Failed to resolve 'huggingface\.co'|host='huggingface\.co', port=\d+\))",
        rank="cause",
        example="urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries "
        "exceeded with url: /Qwen/Qwen3-8B/resolve/main/config.json",
        look_alike="'HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out.' thrown while "
        "requesting HEAD https://huggingface.co/Qwen/Qwen3-8B/resolve/main/config.json, retrying in 1 s",
        source="urllib3: exceptions.py; jhc13/taggui#307",
        message="huggingface.co cannot be reached from here: no name server, no way out, or a proxy that was not named",
        remedies=(
            LogRemedy(
                "See whether the machine, or the container, reaches it",
                ("curl -sI https://huggingface.co", "printenv HTTPS_PROXY"),
            ),
            LogRemedy(
                "With the model in the cache of this machine already: do not ask the network",
                ("export HF_HUB_OFFLINE=1",),
            ),
            LogRemedy("Else download it where there is a network, and give its folder as --model-path"),
        ),
    ),
    Signature(
        pattern=r"GatedRepoError|RepositoryNotFoundError|LocalEntryNotFoundError|We couldn't connect to "
        r"'https://huggingface",
        rank="cause",
        example="huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6)",
        look_alike="Fetching 17 files from https://huggingface.co",
        source="huggingface_hub: errors.py",
        message="The repository of the model cannot be read from here: its name, the token, or the way to the network",
        remedies=(
            LogRemedy("Check the repository's name and that the token (HF_TOKEN) was granted access"),
            LogRemedy("Without a network: download the model elsewhere and give its folder as --model-path"),
        ),
    ),
]
