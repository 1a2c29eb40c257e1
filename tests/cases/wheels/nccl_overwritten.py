"""Cases of wheels.nccl-overwritten. Pins are those of torch 2.11.0 (2.28.9, cu13); sizes are made up."""

from sm120kit.snapshot.types.packages import Claim, SharedFile
from tests.builders import SITE, packages, snapshot
from tests.cases.harness import a_note, a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "wheels.nccl-overwritten"

_NCCL = f"{SITE}/nvidia/nccl/lib/libnccl.so.2"
_BOTH = packages(nvidia_nccl_cu12="2.27.5", nvidia_nccl_cu13="2.28.9", torch="2.11.0")
_OLD, _WANTED = Claim("nvidia-nccl-cu12 2.27.5", 300), Claim("nvidia-nccl-cu13 2.28.9", 400)
_NEWER = Claim("nvidia-nccl-cu12 2.30.4", 500)


def _shared(size: int, *claims: Claim, wanted: str = "nvidia-nccl-cu13 2.28.9") -> SharedFile:
    return SharedFile(_NCCL, size, claims or (_OLD, _WANTED), wanted)


CASES = [
    healthy("NCCL for one major alone", snapshot(distributions=packages(nvidia_nccl_cu13="2.28.9", torch="2.11.0"))),
    broken(
        "an older one was installed over torch's",
        snapshot(distributions=_BOTH, shared_files=(_shared(300),)),
        an_error(
            _NCCL, "the older nvidia-nccl-cu12 2.27.5 is there", "torch wants nvidia-nccl-cu13 2.28.9", "400 bytes"
        ),
    ),
    broken(
        "a newer one was installed over torch's",
        snapshot(
            distributions=packages(nvidia_nccl_cu12="2.30.4", nvidia_nccl_cu13="2.28.9", torch="2.11.0"),
            shared_files=(_shared(500, _NEWER, _WANTED),),
        ),
        a_warning(_NCCL, "nvidia-nccl-cu12 2.30.4 is there"),
    ),
    broken(
        "both, and torch's own came last",
        snapshot(distributions=_BOTH, shared_files=(_shared(400),)),
        a_note(_NCCL, "the right one is there"),
    ),
    broken(
        "two NCCL of one size",
        snapshot(
            distributions=_BOTH,
            shared_files=(_shared(400, Claim("nvidia-nccl-cu12 2.28.9", 400), _WANTED),),
        ),
        a_note(_NCCL),
    ),
    look_alike(
        "one major alone, in another version than torch pins",
        snapshot(distributions=packages(nvidia_nccl_cu13="2.30.4", torch="2.11.0")),
    ),
    look_alike(
        "two wheels share cuDNN, and NCCL is alone",
        snapshot(
            distributions=packages(nvidia_nccl_cu13="2.28.9", torch="2.11.0"),
            shared_files=(SharedFile(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", 1, (_OLD, _WANTED)),),
        ),
    ),
    unknown("the file is neither's", snapshot(distributions=_BOTH, shared_files=(_shared(7),))),
    unknown("torch does not say", snapshot(distributions=_BOTH, shared_files=(_shared(300, wanted=""),))),
    not_applicable("no NCCL", snapshot()),
]
