"""Writes the files that call the smoke test from a CI system, and the Dockerfile stage that repairs an image."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from sm120kit.data import data_dir
from sm120kit.data_dir import DataDir, key_of
from sm120kit.errors import Sm120kitError
from sm120kit.smoke.own_source import HARMLESS, RELEASE, own_requirement
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
_DEFAULT_GPU = "rtx-pro-6000"
_IMAGE = r"[A-Za-z0-9$_{}][A-Za-z0-9._/:@${}-]*"
_PATH = r"(/[A-Za-z0-9._+-]+)+"


class CiFile(NamedTuple):
    """A file for CI, and what of it nobody asked for."""

    text: str
    assumed: tuple[str, ...]
    """Sentences without full stop, which stand in the file too."""


def render_ci(
    kind: Kind,
    *,
    level: Level,
    image: str = "",
    gpu: str = "",
    driver: str = "",
    python: str = "",
    requirement: str = "",
) -> CiFile:
    """The file. ``gpu`` and ``driver`` were read before; what is empty gets a value that suits the kind.
    ``requirement`` is what pip installs there as sm120kit.

    Raises:
        Sm120kitError: a name holds what has a meaning in YAML, a shell or a Dockerfile; exit code 2.
    """
    if requirement and not HARMLESS.fullmatch(requirement):
        raise Sm120kitError(
            f"--requirement {requirement} cannot be written into a file for CI",
            hint="Give a release such as sm120kit==1.0, an address, or git+https://… at a commit",
        )
    requirement = requirement or own_requirement()
    assumed = tuple(_assumed(kind, level, image=image, gpu=gpu, driver=driver, python=python, requirement=requirement))
    image, python = image or _IMAGES[kind], python or _DEFAULT_PYTHON
    if not re.fullmatch(_IMAGE, image):
        raise Sm120kitError(f"--image {image} is no name of an image", hint="Write it as registry/name:tag")
    if not re.fullmatch(_PATH, python):
        raise Sm120kitError(
            f"--python {python} cannot be written into a file for CI",
            hint="Give the interpreter's absolute path inside the image, of letters, digits and ._+-",
        )
    hardware = _options(("--gpu", gpu or _DEFAULT_GPU), ("--driver", driver))
    data = DataDir(f"{HOME}/data")
    key = key_of(posixpath.dirname(posixpath.dirname(python)))
    text = _template(kind).render(
        assumed=assumed,
        current=data.current(key),
        data=data.path,
        hardware=gpu or _DEFAULT_GPU,
        hardware_options=hardware,
        home=HOME,
        image=image,
        inside=f"--python {python} {hardware} --data-dir {data.path}",
        level=level,
        options=hardware,
        program=f"{HOME}/bin/sm120kit",
        python=python,
        requirement=requirement or RELEASE,
        target=data.target(key),
        version=__version__,
    )
    return CiFile(text, assumed)


def _assumed(
    kind: Kind, level: Level, *, image: str, gpu: str, driver: str, python: str, requirement: str
) -> Iterator[str]:
    """What is taken for each that is empty and matters to this kind."""
    if not gpu:
        yield f"--gpu {_DEFAULT_GPU}: no hardware was named; give --gpu NAMExN, as in --gpu rtx-5090x2"
    if not driver:
        yield "no --driver: whether it is new enough for the image is not judged; nvidia-smi prints its version"
    if kind == "dockerfile" and not image:
        yield f"--image {_IMAGES[kind]}: the stage or the image that is repaired"
    if not python and (kind == "dockerfile" or level != "static"):
        yield f"--python {_DEFAULT_PYTHON}: the interpreter of the environment in the image"
    if not requirement:
        yield f"SM120KIT={RELEASE}: this one came from no index or repository; name with --requirement what pip finds"


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
