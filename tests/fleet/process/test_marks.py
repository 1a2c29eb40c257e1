"""Everything that carries a mark is found and ended, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid

import pytest

from sm120kit.fleet.process.identity import alive, identify
from sm120kit.fleet.process.mark_text import read_mark, write_mark
from sm120kit.fleet.process.marks import VARIABLE, all_marks, marked, sweep
from sm120kit.fleet.types import ProcessId
from tests.fleet.programs import FOREVER, LEAVES_A_CHILD


def begin(command: tuple[str, ...], mark: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, VARIABLE: mark}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.first_line = process.stdout.readline()  # type: ignore[attr-defined]
    return process


def end(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_sweeping_ends_what_left_its_family_and_spares_the_neighbour() -> None:
    mark, other = f"test-{uuid.uuid4()}", f"test-{uuid.uuid4()}"
    leaver, neighbour = begin((*LEAVES_A_CHILD, "stay"), mark), begin(FOREVER, other)
    orphan = identify(int(leaver.first_line))  # type: ignore[attr-defined]
    assert orphan is not None
    leaver.kill()
    leaver.wait()
    assert alive(orphan)
    assert orphan in marked(mark)
    assert sweep(mark) == ()
    assert not alive(orphan)
    assert neighbour.poll() is None
    assert set(all_marks()) >= {other}
    end(leaver, neighbour)


def test_a_mark_that_begins_like_another_is_another() -> None:
    mark = f"test-{uuid.uuid4()}"
    process = begin(FOREVER, f"{mark}-longer")
    assert marked(mark) == ()
    sweep(mark, limit_s=1)
    assert process.poll() is None
    end(process)


def test_no_mark_is_nobodys_mark() -> None:
    # A state file without an id would otherwise be the end of every process of its user.
    process = subprocess.Popen(FOREVER, env={**os.environ, VARIABLE: ""}, stdout=subprocess.PIPE)
    try:
        assert marked("") == ()
        assert "" not in all_marks()
    finally:
        end(process)


def test_a_mark_tells_whose_it_is() -> None:
    supervisor = ProcessId(17, 4711, "8e0c2e21-aaaa-bbbb")
    assert read_mark(write_mark(supervisor)) == supervisor
    assert read_mark("something else") is None


CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
"""What a container is to the kernel, as far as numbers of processes go."""


@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*CONTAINER, "true"], capture_output=True).returncode != 0,
    reason="this user may make no PID namespace",
)
def test_what_runs_in_a_container_is_left_to_those_in_it() -> None:
    # Its supervisor has another number in there, and would pass for one that is gone.
    mark = f"test-{uuid.uuid4()}"
    outside = {key: value for key, value in os.environ.items() if key != VARIABLE}
    command = (*CONTAINER, "env", f"{VARIABLE}={mark}", *FOREVER)
    process = subprocess.Popen(command, env=outside, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    assert mark not in all_marks()
    assert sweep(mark, limit_s=1) == ()
    assert process.poll() is None
    end(process)
