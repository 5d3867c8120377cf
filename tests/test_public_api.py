"""The public API is pinned: names, signatures, types as mypy --strict sees them, and the page that shows it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import thunder_otel
from thunder_otel import testing

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "api.md"

SIGNATURES = {
    "CUDAGraphTransform": "(*, share_mem_pool=False)",
    "Handle": "(*undo)",
    "Level": "(*values)",
    "Run": "()",
    "SpanRecord": "(*, name, stage, kind, fn, trace_id, span_id, parent_id, start_ns, end_ns, attributes, texts,"
    " error)",
    "StageFilter": "()",
    "StopCompile": None,
    "ThunderInstrumentor": "(*args, **kwargs)",
    "WrongLevel": None,
    "add_processor": "(processor)",
    "add_stage_ids": None,  # a built-in method: code that thunder interprets may call it
    "capture": "(level=<Level.NVFUSER_CODE: 3>, *, all_threads=False)",
    "instrument": "(level=None)",
    "on_span_end": "(function=None, *, stages=(), redacts=False, timeout=1.0)",
    "on_span_start": "(function=None, *, stages=(), redacts=False, timeout=1.0)",
    "redact": "(what, replacement='[redacted]', *, stages=(), timeout=1.0)",
    "remove_hook": "(function)",
    "send_events_as_otel_logs": "(provider=None)",
    "set_logger": "(logger)",
    "trace_calls": "(jfn, *, sample=0.01)",
    "uninstrument": "()",
}
TESTING = {
    "Run": "()",
    "assert_compiles": "(run, count, *, fn=None)",
    "assert_fused": "(run, op, *, executor=None)",
    "assert_not_fused": "(run, op)",
    "assert_regions": "(run, count, *, executor=None, kind=None)",
    "capture": "(level=<Level.NVFUSER_CODE: 3>, *, all_threads=False)",
    "no_recompile": "(*, all_threads=False)",
}


def signature(value: Any) -> str:
    """Parameters with their defaults, without annotations."""
    parameters = inspect.signature(value).parameters.values()
    return str(inspect.Signature([parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]))


@pytest.mark.parametrize(("module", "pinned"), [(thunder_otel, SIGNATURES), (testing, TESTING)])
def test_names_and_signatures_are_pinned(module: Any, pinned: dict[str, str | None]) -> None:
    assert sorted(module.__all__) == sorted(pinned)
    found = {name: signature(getattr(module, name)) if pinned[name] is not None else None for name in module.__all__}
    if sys.version_info < (3, 12) and "Level" in found:  # EnumType has its signature from 3.12 on
        found["Level"] = pinned["Level"]
    assert found == pinned


@pytest.mark.parametrize("module", [thunder_otel, testing])
def test_every_public_name_is_documented(module: Any) -> None:
    page = PAGE.read_text()
    for name in module.__all__:
        value = getattr(module, name)
        if not isinstance(value, type(print.__call__)):  # a built-in method cannot carry a docstring of its own
            assert inspect.getdoc(value), name
        if module is thunder_otel and name not in ("ThunderInstrumentor", "Handle", "Run", "Level", "WrongLevel"):
            assert re.search(rf"\b{name}\b", page) or name in ("instrument", "uninstrument"), name


def test_every_property_of_a_run_is_documented() -> None:
    page = PAGE.read_text()
    names = [name for name, value in vars(thunder_otel.Run).items() if isinstance(value, (property, staticmethod))]
    assert len(names) == 8
    assert all(f"`run.{name}" in page for name in names)


def test_the_package_loads_its_parts_when_they_are_used() -> None:
    code = (
        "import sys, thunder_otel; print(sorted({'torch', 'structlog', 'opentelemetry', 'wrapt'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    """In one process and in order, as a reader would."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 9
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "thunder_otel:" not in done.stderr  # nothing of ours had to complain
    assert done.stdout.startswith("<Run: 2 compiles of 1 function in ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.py"]


@pytest.mark.slow
def test_mypy_strict_agrees_with_the_typed_usage() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "tests/typing/usage.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
