"""The page's own algorithms, run in the browser: the diff, the colouring, the reading of traces."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.e2e

SCRIPTS = files("thunder_otel.report.html").joinpath("static").joinpath("js")
LOADED = ("01_dom.js", "03_tokens.js", "04_diff.js", "07_trace.js")
EXPORTED = (
    "diffLines, withoutNumbers, changedPart, tokens, startStates, parseTrace, usesOf, operationAt, kernelCalls,"
    " turnAt, operationsOfTurn"
)


@pytest.fixture
def script(chromium: Browser) -> Iterator[Page]:
    """A blank page with the script's functions on ``window``."""
    page = chromium.new_page()
    source = "\n".join(SCRIPTS.joinpath(name).read_text("utf-8") for name in LOADED)
    page.add_script_tag(content=f"{{\n{source}\nObject.assign(window, {{ {EXPORTED} }});\n}}")
    yield page
    page.close()


def test_a_diff_rebuilds_both_sides(script: Page) -> None:
    wrong = script.evaluate(
        """() => {
          let seed = 7;
          const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
          const lines = (most, words) => Array.from({ length: random(most) }, () => `x${random(words)}`);
          let edits = 0;
          for (let round = 0; round < 4000; round++) {
            const [a, b] = [lines(40, 2 + random(30)), lines(40, 2 + random(30))];
            const diff = diffLines(a, b);
            const left = diff.filter(([kind]) => kind !== "+").map(([, i]) => a[i]);
            const right = diff.filter(([kind]) => kind !== "-").map(([, , i]) => b[i]);
            if (left.join() !== a.join() || right.join() !== b.join()) return [a, b];
            if (diff.some(([kind, i, j]) => kind === "=" && a[i] !== b[j])) return [a, b];
            edits += diff.filter(([kind]) => kind !== "=").length;
          }
          return edits;
        }"""
    )
    assert isinstance(wrong, int) and wrong > 10_000


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        (["a", "b", "c"], ["a", "c"], "=-="),
        (["a", "c"], ["a", "b", "c"], "=+="),
        ([], ["a"], "+"),
        (["a"], [], "-"),
        (["a", "b"], ["a", "b"], "=="),
        (["# Constructed by A (took 3 milliseconds)", "x"], ["# Constructed by B (took 9 milliseconds)", "x"], "=="),
        (["a", "x", "b", "x", "c"], ["a", "x", "c"], "==--="),
    ],
)
def test_small_diffs(script: Page, left: list[str], right: list[str], kinds: str) -> None:
    found = script.evaluate("([a, b]) => diffLines(a, b).map(([kind]) => kind).join('')", [left, right])
    assert found == kinds


def test_a_diff_of_nothing_in_common_ends_soon(script: Page) -> None:
    took = script.evaluate(
        """() => {
          const a = Array.from({ length: 40000 }, (_, i) => `a${i % 7} ${i % 11}`);
          const b = Array.from({ length: 40000 }, (_, i) => `a${i % 5} ${i % 13}`);
          const started = performance.now();
          diffLines(a, b);
          return performance.now() - started;
        }"""
    )
    assert took < 1000


def test_variable_numbers_can_be_ignored(script: Page) -> None:
    same = script.evaluate("() => [withoutNumbers('t12 = f(t3)'), withoutNumbers('t7 = f(t99)')]")
    assert same[0] == same[1]
    assert script.evaluate("() => withoutNumbers('f32[2]')") == "f32[2]"


@pytest.mark.parametrize(
    ("line", "language", "inside", "expected"),
    [
        ("x = 1.5", "py", "", [["n var", "x"], ["w", " "], ["o", "="], ["w", " "], ["mi", "1.5"]]),
        ("return 'a'", "py", "", [["k", "return"], ["w", " "], ["s", "'a'"]]),
        ("@torch.no_grad()", "py", "", [["nd", "@torch.no_grad"], ["o", "()"]]),
        ("'''open", "py", "", [["s", "'''open"]]),
        ("end''' x", "py", "'''", [["s", "end'''"], ["w", " "], ["n var", "x"]]),
        (
            "/* a */ int b;",
            "cpp",
            "",
            [["cm", "/* a */"], ["w", " "], ["k", "int"], ["w", " "], ["n var", "b"], ["o", ";"]],
        ),
        ("#include <x>", "cpp", "", [["cp", "#include <x>"]]),
        ("f(x)", "cpp", "", [["nf", "f"], ["o", "("], ["n var", "x"], ["o", ")"]]),
        ("anything", "text", "", [["", "anything"]]),
    ],
)
def test_colours(script: Page, line: str, language: str, inside: str, expected: list[Any]) -> None:
    found = script.evaluate(
        "([line, language, inside]) => [...tokens(line, language, inside)]", [line, language, inside]
    )
    assert found == expected
    assert "".join(text for _, text in found) == line


def test_a_text_over_lines_stays_a_text(script: Page) -> None:
    lines = ["a = r'''", "int x;", "''', 1", "b"]
    assert script.evaluate("lines => startStates(lines, 'py')", lines) == ["", "'''", "'''", ""]


TRACE = """def computation(x, w):
  # x: "cpu f32[2]"

  # /a/b.py:7: \ty = x * w
  y = ltorch.mul(x, w)  # y: "cpu f32[2]"
    # y = prims.mul(x, w)  # y: "cpu f32[2]"
  (a, b) = prims.var_mean(y, (0,))
  del x
  return y""".splitlines()


def test_a_trace_is_read(script: Page) -> None:
    found = script.evaluate(
        """lines => {
          const trace = parseTrace(lines);
          const at = operationAt(trace, 4);
          return { uses: usesOf(trace, "y"), x: usesOf(trace, "x"), source: at.source, op: at.op,
                   parts: at.parts.map((part) => part.op), outputs: trace.operations.map((one) => one.outputs) };
        }""",
        TRACE,
    )
    assert found["uses"] == {"made": 4, "uses": [6, 8], "shape": "cpu f32[2]"}
    assert found["x"]["made"] == 0 and found["x"]["uses"] == [4, 5, 7]
    assert found["source"] == {"line": 3, "file": "/a/b.py", "at": 7, "text": "y = x * w"}
    assert (found["op"], found["parts"]) == ("ltorch.mul", ["prims.mul"])
    assert found["outputs"] == [["y"], ["y"], ["a", "b"]]


LAYERS = """  # /l.py:5: \treturn F.linear(x)
  a = ltorch.linear(x)
  # /m.py:1: \tx = a + 1
  b = ltorch.add(a, 1)
  # /l.py:5: \treturn F.linear(x)
  c = ltorch.linear(b)""".splitlines()


def test_the_second_call_of_a_layer_stays_the_second(script: Page) -> None:
    later = [line.replace("a = ", "t1 = ").replace("c = ", "t9 = ") for line in LAYERS]
    find = """([lines, later]) => {
      const trace = parseTrace(lines);
      const source = trace.sources[trace.source[5]];
      const { sure, operations } = operationsOfTurn(parseTrace(later), source, turnAt(trace, 5));
      return [turnAt(trace, 5), sure, operations.map((one) => one.outputs[0])];
    }"""
    assert script.evaluate(find, [LAYERS, later]) == [{"turn": 1, "of": 2}, True, ["t9"]]
    assert script.evaluate(find, [LAYERS, later[:4]])[1:] == [False, ["t1"]]


def test_the_calls_of_inductors_module_name_what_they_compute(script: Page) -> None:
    code = """
        # Topologically Sorted Source Nodes: [t1, t2], Original ATen: [aten.mul]
        stream0 = get_raw_stream(0)
        triton_poi_fused_mul_0.run(arg0, buf0, 8, stream=stream0)
        # Topologically Sorted Source Nodes: [t3], Original ATen: [aten.mm]
        extern_kernels.mm(buf0, arg1, out=buf1)
        cpp_fused_add_1(buf1)
"""
    assert script.evaluate("code => kernelCalls(code)", code) == [
        {"kernel": "triton_poi_fused_mul_0", "names": ["t1", "t2"]},
        {"kernel": "extern_kernels.mm", "names": ["t3"]},
        {"kernel": "cpp_fused_add_1", "names": []},
    ]
