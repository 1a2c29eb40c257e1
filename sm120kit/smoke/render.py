"""Writes the files that call the smoke test from a CI system, and the Dockerfile stage that repairs an image."""

from __future__ import annotations

import posixpath
import re
import shlex
from typing import TYPE_CHECKING, Literal, get_args

from sm120kit.data import data_dir
from sm120kit.data_dir import DataDir, key_of
from sm120kit.errors import Sm120kitError
from sm120kit.smoke.types import Level
from sm120kit.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template

Kind = Literal["github", "gitlab", "dockerfile"]
KINDS: tuple[Kind, ...] = get_args(Kind)

HOME = "/opt/sm120kit"
"""Where the Dockerfile stage puts sm120kit, its repair and its entrypoint inside the image."""

_IMAGES = {"github": "image:smoke", "gitlab": "$CI_REGISTRY_IMAGE:$CI_COMMIT_SHA", "dockerfile": "base"}
_DEFAULT_PYTHON = "/usr/bin/python3"
_IMAGE = r"[A-Za-z0-9$_{}][A-Za-z0-9._/:@${}-]*"
_PATH = r"(/[A-Za-z0-9._+-]+)+"


def render_ci(kind: Kind, *, level: Level, image: str = "", gpu: str = "", driver: str = "", python: str = "") -> str:
    """The file as text. ``gpu`` and ``driver`` were read before; what is empty gets a value that suits the kind.

    Raises:
        Sm120kitError: a name holds what has a meaning in YAML, a shell or a Dockerfile; exit code 2.
    """
    image, python = image or _IMAGES[kind], python or _DEFAULT_PYTHON
    if not re.fullmatch(_IMAGE, image):
        raise Sm120kitError(f"--image {image} is no name of an image", hint="Write it as registry/name:tag")
    if not re.fullmatch(_PATH, python):
        raise Sm120kitError(
            f"--python {python} cannot be written into a file for CI",
            hint="Give the interpreter's absolute path inside the image, of letters, digits and ._+-",
        )
    hardware = _options(("--gpu", gpu or "rtx-pro-6000"), ("--driver", driver))
    data = DataDir(f"{HOME}/data")
    key = key_of(posixpath.dirname(posixpath.dirname(python)))
    return _template(kind).render(
        current=data.current(key),
        data=data.path,
        hardware=gpu or "rtx-pro-6000",
        hardware_options=hardware,
        home=HOME,
        image=image,
        inside=f"--python {python} {hardware} --data-dir {data.path}",
        level=level,
        options=hardware,
        program=f"{HOME}/bin/sm120kit",
        python=python,
        requirement=f"sm120kit=={__version__}",
        target=data.target(key),
        version=__version__,
    )


def _options(*given: tuple[str, str]) -> str:
    return " ".join(f"{name} {shlex.quote(value)}" for name, value in given if value)


def _template(kind: Kind) -> Template:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates") / "ci"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    ).get_template(f"{kind}.j2")
