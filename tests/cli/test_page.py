"""The page of the command line names every command and option, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from thunder_otel.cli._app import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BY_TYPER = {"--install-completion", "--show-completion", "--help"}


def test_the_page_has_every_command_and_option() -> None:
    text = PAGE.read_text()
    group = typer.main.get_command(app)
    commands = group.commands  # type: ignore[attr-defined]
    assert set(re.findall(r"^\| `(\w+)", text, re.M)) == set(commands)
    for name, command in commands.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}"))
        budgets = set(re.findall(r"--max-[\w-]+", text)) if name == "diff" else set()
        options = {word for parameter in command.params for word in parameter.opts if word.startswith("--")}
        assert set(re.findall(r"--[\w-]+", row)) | budgets == options - BY_TYPER, name
