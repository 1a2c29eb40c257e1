"""A Python module is not installed in the environment that ran

## What it finds
A program that ends since Python finds no module of a name.

## Why it matters
Most often the wrong Python ran: that of the system, or of a unit or cron job without the venv. Else a package was
installed without its dependencies, or two packages do not fit each other.

## How it is found
By the words of Python, where they end a program. Imports that a program tries and does without are passed over.

## Remedy
Start the server with the Python of its environment. What is missing there is installed with the package that needs it;
modules and packages may have different names (cv2 is of opencv-python).

## Sources
- Python: runpy, importlib; sgl-project/sglang#13276, #3687, #4869, #362; WukLab/preble#75
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.module-missing")

_SAYS = (
    r"^(?:\S*python[\d.]*: Error while finding module specification for '[^']*' \()?"
    r"ModuleNotFoundError: No module named '"
)
_WHICH = LogRemedy(
    "See which Python ran, and start the server with that of its environment", ("which -a python3 sglang",)
)

SIGNATURES = [
    Signature(
        pattern=rf"{_SAYS}(?P<module>sglang|vllm|torch|triton|transformers)'",
        rank="cause",
        example="/usr/bin/python3: Error while finding module specification for 'sglang.launch_server' "
        "(ModuleNotFoundError: No module named 'sglang')",
        look_alike="Ignore import error when loading sglang.srt.models.grok: No module named 'vllm'",
        source="Python 3.12: runpy; sgl-project/sglang#362",
        message="{module} is not installed in the Python that ran",
        remedies=(_WHICH, LogRemedy("If there is none, install it there", ("python3 -m pip install {module}",))),
    ),
    Signature(
        pattern=rf"{_SAYS}(?P<module>sgl_kernel)(?:\.[\w.]+)?'",
        rank="cause",
        example="ModuleNotFoundError: No module named 'sgl_kernel'",
        look_alike="sgl_kernel is not available: No module named 'sgl_kernel'",
        source="sgl-project/sglang#3687",
        message="{module}, the kernels of SGLang, is not installed in the Python that ran",
        remedies=(
            LogRemedy(
                "Install SGLang with what it pins, the kernels among it: their package is called sgl-kernel or "
                "sglang-kernel, depending on its version",
                ("python3 -m pip install sglang[[=={sglang_version}]]",),
            ),
            _WHICH,
        ),
    ),
    Signature(
        pattern=rf"{_SAYS}(?P<module>flashinfer)'",
        rank="cause",
        example="ModuleNotFoundError: No module named 'flashinfer'",
        look_alike="WARNING: FlashInfer is not available: No module named 'flashinfer'",
        source="Python: importlib",
        message="{module} is not installed in the Python that ran; its package is called flashinfer-python",
        remedies=(
            LogRemedy(
                "Install SGLang with what it pins, FlashInfer among it",
                ("python3 -m pip install sglang[[=={sglang_version}]]",),
            ),
            _WHICH,
        ),
    ),
    Signature(
        pattern=rf"{_SAYS}(?P<package>\w+)\.(?P<rest>[\w.]+)'",
        rank="cause",
        example="ModuleNotFoundError: No module named 'sglang.srt.managers.router'",
        look_alike="ModuleNotFoundError: No module named 'pybase64'",
        source="WukLab/preble#75; sgl-project/sglang#362",
        message="The {package} that is installed has no {package}.{rest}: it is of another version than the "
        "program needs "
        "that imports it",
        remedies=(
            LogRemedy(
                "See which version it is, and which one that program asks for", ("python3 -m pip show {package}",)
            ),
            LogRemedy(
                "See whether something else of that name comes first, such as a folder where it was started",
                ("ls -d {package}*",),
            ),
        ),
    ),
    Signature(
        pattern=rf"{_SAYS}(?P<module>\w+)'",
        rank="cause",
        example="ModuleNotFoundError: No module named 'pybase64'",
        look_alike="UserWarning: optional module pybase64 is missing",
        source="sgl-project/sglang#13276, #4869",
        message="The Python module {module} is not installed in the Python that ran",
        remedies=(
            LogRemedy(
                "Install it there. Where the package has another name than the module, as opencv-python of cv2, "
                "name that",
                ("python3 -m pip install {module}",),
            ),
            LogRemedy("See what else is missing", ("python3 -m pip check",)),
        ),
    ),
    Signature(
        pattern=r"^\S*python[\d.]*: No module named '?(?P<package>\w+)(?P<rest>[\w.]*)",
        rank="cause",
        example="/usr/bin/python3: No module named sglang.launch_server",
        look_alike="python3: No modules were named",
        source="Python 3.12: runpy",
        message="The Python that ran finds no module {package}{rest}",
        remedies=(
            _WHICH,
            LogRemedy(
                "See whether a folder of that name, where it was started, hides the installed one",
                ("ls -d {package}*",),
            ),
            LogRemedy("If it is not installed there", ("python3 -m pip install {package}",)),
        ),
    ),
]
