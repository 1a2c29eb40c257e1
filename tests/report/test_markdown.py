"""The report as Markdown."""

from __future__ import annotations

import re

from sm120kit.diagnosis.types import Evidence, Manual, Suppression
from sm120kit.report.markdown import render_markdown
from tests.builders import flashinfer, no_driver, snapshot
from tests.reports import crashed, finding, found, ok, report, unknown


def test_a_finding_shows_everything() -> None:
    text = render_markdown(report(found(finding())))
    assert "## error: a part of /opt/cuda is missing" in text
    assert "- `no cicc`, `/opt/cuda/nvvm/bin/cicc`, from `nvidia-nvvm 13.0.88`" in text
    assert "```sh\npip install nvidia-nvvm==13.0.88\n```" in text
    assert "**Found 1 error** (1 check)" in text
    assert "Check `toolkit.broken`, fingerprint `" in text


def test_good_unknown_crashed_and_suppressed_are_told() -> None:
    assert "**Good: nothing wrong was found** (1 check)" in render_markdown(report(ok()))
    text = render_markdown(report(unknown(), snapshot=snapshot(toolkits=(), driver=no_driver())))
    assert "No GPU could be asked" in text
    assert "- driver: NVML did not answer (driver.unclear)" in text
    assert "KeyError: 'nvcc'" in render_markdown(report(crashed()))
    text = render_markdown(report(found(finding()), suppressions=[Suppression("toolkit.*", "we live with it")]))
    assert "## Suppressed" in text
    assert "we live with it" in text


def test_verbose_holds_the_tables() -> None:
    text = render_markdown(report(ok(), snapshot=snapshot(consumers=(flashinfer(),))), verbose=True)
    assert "## Which toolkit each installed package uses, and why" in text
    assert "| flashinfer-python 0.7.2.post1 |" in text


def test_text_from_the_target_is_no_markup() -> None:
    hostile = "<img src=x> ![a](http://b) @everyone | **x** `y`\n# title\x1b[31m"
    text = render_markdown(
        report(
            found(finding(message=hostile, evidence=[Evidence(hostile, "``` /tmp/`a`")], remedies=[Manual(hostile)]))
        )
    )
    assert "\n# title" not in text
    assert "\x1b" not in text
    outside = re.sub(r"(`+).*?\1(?!`)", "", text.replace("\\`", ""))
    assert "<img" not in outside.replace("\\<", "")
    assert "](" not in outside.replace("\\]", "")
    assert "@everyone" not in outside


def test_backticks_in_a_command_do_not_end_its_fence() -> None:
    text = render_markdown(report(found(finding(remedies=[Manual("Do this", ("echo ``` `date`",))]))))
    assert "````sh\necho ``` `date`\n````" in text
