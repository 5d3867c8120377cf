"""Only plain files inside a run folder are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from thunder_otel._run_files import read_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "text").write_text("secret")
    run = tmp_path / "run"
    (run / "traces").mkdir(parents=True)
    (run / "traces" / "text").write_text("text")
    (run / "traces" / "link").symlink_to(tmp_path / "secret")
    (run / "linked").symlink_to(tmp_path / "elsewhere")
    return run


def test_a_file_of_the_folder_is_read(folder: Path) -> None:
    assert read_file(folder, "traces/text") == b"text"


@pytest.mark.parametrize(
    "path",
    ["", "traces", "traces/absent", "traces/link", "linked/text", "../secret", "traces/../../secret", "/etc/hosts"],
)
def test_nothing_else_is(path: str, folder: Path) -> None:
    assert read_file(folder, path) is None
