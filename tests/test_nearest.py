"""Words that were probably meant."""

from __future__ import annotations

import pytest

from sm120kit.nearest import did_you_mean, likeness, nearest

_OPTIONS = ("--python", "--root", "--format", "--only", "--apply", "--site-packages")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--formt", ["--format"]),
        ("--aply", ["--apply"]),
        ("--sitepackages", ["--site-packages"]),
        ("--foo", []),
        ("--x", []),
    ],
)
def test_dashes_are_no_likeness(word: str, meant: list[str]) -> None:
    assert nearest(word, _OPTIONS) == meant


def test_what_is_far_less_alike_than_the_best_was_not_meant() -> None:
    known = ("release-mismatch", "release-mismatches", "release-matches")
    assert nearest("release-missmatch", known, most=3) == ["release-mismatch", "release-mismatches"]
    assert nearest("release-missmatch", known, most=3, within=0.5) == list(known)


def test_a_word_that_stands_whole_in_another_is_near_to_it() -> None:
    known = ("toolkit.nv-target-missing", "toolkit.cccl-mixed", "gpu.xid", "wheels.known-bad")
    assert nearest("nv-target", known) == ["toolkit.nv-target-missing"]
    assert nearest("cccl", known) == ["toolkit.cccl-mixed"]
    assert nearest("it.", known) == []


def test_a_question_or_another_sentence() -> None:
    assert did_you_mean("docter", ("doctor", "diff")) == "Did you mean doctor?"
    assert did_you_mean("zzz", ("doctor", "diff"), otherwise="See the list") == "See the list"


def test_likeness_is_that_of_the_nearest() -> None:
    assert likeness("rtx-5090", ("b200", "rtx-5090")) == 1
    assert likeness("zzz", ("b200",)) == likeness("zzz", ()) == 0
