"""This version of the server does not know the model's architecture

## What it finds
A model that SGLang, or the transformers beside it, has no code for.

## Why it matters
Models appear faster than releases. The message lists a hundred names that are supported, and the one that is not stands
before them.

## How it is found
By the words of SGLang's registry of models and of transformers.

## Remedy
Use the first release that supports the model, with the transformers it pins: install sglang anew rather than
transformers alone, since SGLang pins it exactly.

## Sources
- SGLang 0.5.12 and 0.5.23: models/registry.py; transformers: models/auto/configuration_auto.py, dynamic_module_utils.py
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.model-unsupported")

SIGNATURES = [
    Signature(
        pattern=r"Model architectures (?P<names>\[[^\]]*\]) are not supported for now",
        rank="cause",
        example="ValueError: Model architectures ['NewForCausalLM'] are not supported for now. Supported "
        "architectures: "
        "dict_keys(['Qwen3ForCausalLM'])",
        look_alike="Model architectures ['NewForCausalLM'] failed to be inspected. Please check the logs for more "
        "details.",
        source="SGLang 0.5.12: models/registry.py",
        versions="SGLang 0.5.x, vLLM",
        message="This version of the server has no code for {names}",
        remedies=(
            LogRemedy("Use a release of the server that supports this model, with exactly the packages that it pins"),
            LogRemedy(
                "If it is listed as supported, its module failed to import: look in this log for 'Ignore import "
                "error when "
                "loading' with its name"
            ),
        ),
    ),
    Signature(
        pattern=r"has model type `(?P<name>[^`]*)` but Transformers does not recognize this architecture",
        rank="cause",
        example="ValueError: The checkpoint you are trying to load has model type `qwen4` but Transformers does not "
        "recognize this architecture. This could be because of an issue with the checkpoint, or because your "
        "version of "
        "Transformers is out of date.",
        look_alike="You are using a model of type qwen3 to instantiate a model of type qwen2.",
        source="transformers: models/auto/configuration_auto.py",
        versions="transformers 4 and 5",
        message="The transformers beside the server does not know models of type {name}",
        remedies=(
            LogRemedy("Use a release of the server that supports this model, with exactly the packages that it pins"),
        ),
    ),
    Signature(
        pattern=r"Please pass the argument `trust_remote_code=True`(?! to load the dataset)"
        r"|^ValueError: The repository .{1,200} contains custom code which must be executed to correctly load "
        r"the model",
        rank="cause",
        example="ValueError: The repository /models/new contains custom code which must be executed to correctly "
        "load the "
        "model. Please pass the argument `trust_remote_code=True` to allow custom code to be run.",
        look_alike="Set --trust-remote-code to load the model-specific tokenizer.",
        source="transformers: dynamic_module_utils.py",
        message="The model brings Python code of its own, and the server was not told to run it",
        remedies=(LogRemedy("Read that code; if you trust it, add --trust-remote-code"),),
    ),
]
