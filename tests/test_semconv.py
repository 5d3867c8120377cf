"""Names stand once in the code, and once in the docs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from thunder_otel import semconv

ROOT = Path(__file__).parents[1]
NAMES = {name: value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}
SOURCES = [*(ROOT / "thunder_otel").rglob("*.py"), *(ROOT / "exporters").rglob("*.py")]


def test_no_two_constants_share_a_name() -> None:
    shared = {"REGION", "EXECUTOR", "GRAPH", "METRIC_REGIONS", "REGIONS", "SPAN_COMPILE", "METRIC_RECOMPILES"}
    values = [value for name, value in NAMES.items() if name not in shared and not name.startswith("SPAN_")]
    assert len(values) == len(set(values))


def test_the_docs_have_every_name() -> None:
    text = (ROOT / "docs" / "spans.md").read_text()
    words = ("REASON_", "SCHEMA_URL", "SCOPE", "LABEL_OTHER", "PAYLOAD_", "LOG_TRACE_ID", "LOG_SPAN_ID")
    missing = [value for name, value in NAMES.items() if not name.startswith(words) and value.strip() not in text]
    assert missing == []


def test_the_docs_have_no_name_that_the_code_lacks() -> None:
    text = (ROOT / "docs" / "spans.md").read_text()
    known = set(NAMES.values())
    rows = re.findall(r"^\| `((?:thunder|torch)\.[\w.]+)` \|", text, re.MULTILINE)
    assert [row for row in rows if row not in known] == []


def test_no_literal_elsewhere() -> None:
    known = {value for value in NAMES.values() if value.startswith(("thunder.", "torch.")) and value.count(".") > 1}
    found = [
        (path.name, node.value)
        for path in SOURCES
        if path.name != "semconv.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in known
    ]
    assert found == []
