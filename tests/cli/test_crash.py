"""What a crash report holds of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.cli.crash import write_crash_report


def test_no_secret_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    typed = ["launch", "/m", "--variable", "HF_TOKEN=hf_secret12345", "--", "--api-key", "two words", "--tp", "2",
             "--admin-api-key=sesame1", "--max-total-tokens", "8192"]  # fmt: skip
    text = Path(write_crash_report(typed, ValueError("x"))).read_text()
    assert not [secret for secret in ("hf_secret", "two words", "sesame1") if secret in text]
    assert "'launch' '/m'" in text
    assert "'--tp' '2'" in text
    assert "'--max-total-tokens' '8192'" in text
