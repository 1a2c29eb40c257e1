"""Run by path in the target's interpreter: builds one FlashInfer module with the environment it is given.

Names of modules and of the functions that generate them are FlashInfer's own, the same in 0.6.7 and 0.7.2. Only
the standard library is imported besides FlashInfer.
"""

import sys

MODULES = {
    "silu_and_mul": ("flashinfer.jit.activation", "gen_act_and_mul_module", ("silu",)),
    "gelu_and_mul": ("flashinfer.jit.activation", "gen_act_and_mul_module", ("gelu",)),
    "norm": ("flashinfer.jit.norm", "gen_norm_module", ()),
    "rope": ("flashinfer.jit.rope", "gen_rope_module", ()),
    "page": ("flashinfer.jit.page", "gen_page_module", ()),
    "sampling": ("flashinfer.jit.sampling", "gen_sampling_module", ()),
    "quantization": ("flashinfer.jit.quantization", "gen_quantization_module", ()),
}


def main(module: str) -> int:
    """Build ``module``; the compiler's words go to standard error."""
    import importlib

    where, function, arguments = MODULES[module]
    try:
        spec = getattr(importlib.import_module(where), function)(*arguments)
        spec.build(False)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    # The folder of this file, where modules lie that are called like some of the standard library's.
    sys.path.pop(0)
    sys.exit(main(sys.argv[1]))
