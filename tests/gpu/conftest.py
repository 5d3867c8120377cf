"""Tests on a real NVIDIA GPU with nvFuser. They print a table of what they saw when they end."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.util import find_spec

import pytest
import torch

HAS_NVFUSER = bool(find_spec("nvfuser_direct") or find_spec("nvfuser"))
_rows: list[tuple[str, str]] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = __file__.rpartition("/")[0]
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.gpu)
            # The versions there differ from those that the rest of the suite is kept free of warnings with.
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            if not (torch.cuda.is_available() and HAS_NVFUSER):
                item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU and nvFuser"))


@pytest.fixture
def note() -> Callable[[str, str], None]:
    """``note(what, value)`` adds a row to the table."""
    return lambda what, value: _rows.append((what, value))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _rows:
        return
    import thunder

    device = torch.cuda.get_device_name()
    versions = f"torch {torch.__version__}, CUDA {torch.version.cuda}, thunder {thunder.__version__}"
    terminalreporter.section(f"{device}, {versions}, Python {platform.python_version()}")
    width = max(len(what) for what, _ in _rows)
    for what, value in _rows:
        terminalreporter.line(f"{what:<{width}}  {value}")
