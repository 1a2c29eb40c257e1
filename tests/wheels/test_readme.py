"""What README shows of doctor, fix and smoke over real wheels is what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.command_lines import command_lines
from tests.docs.comparing import difference
from tests.docs.world import world
from tests.programs import require_program
from tests.wheels.trees import add_missing, lay
from tests.wheels.variants import BROKEN

pytestmark = pytest.mark.wheels


def lay_real_packages(site_packages: Path) -> None:
    """CUDA 13.0 as pip leaves it, and FlashInfer."""
    for requirement in (*BROKEN["pure"].requirements(), "flashinfer-python==0.6.7.post2"):
        add_missing(lay(requirement), site_packages)


def test_outputs_over_real_wheels(tmp_path: Path) -> None:
    require_program("bash", "gcc", "c++")
    lines = [line for line in command_lines("README.md") if line.compared == "with wheels"]
    assert len(lines) >= 3
    with world(tmp_path, lay_real_packages) as machine:
        for line in lines:
            ended = machine.run(line.text, until_interrupted=False)
            assert ended.code == line.code, ended.out + ended.err
            assert not (unlike := difference(line.output, machine.as_printed(ended.out))), unlike
