"""What we print is what thunder prints, whatever we reuse; and printing leaves no mark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from thunder.executors.torch_compile import torch_compile_ex

from thunder_otel import _compile_state, _printing, _rendering
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording


def branches(x: torch.Tensor, flag: bool, scale: float, name: str) -> torch.Tensor:
    y = torch.nn.functional.gelu(x[..., 1:]) * scale
    y = torch.where(y > 0, y, float("-inf")).clamp(min=-1.0)
    return (y.to(torch.float64) + len(name), {"sum": y.sum(dim=(0, -1)), "flag": flag})


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.add_(1).mul_(2)
    return y[::2, None], x.dtype == torch.float32, y.shape


def casts(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        y = torch.nn.functional.linear(x, w)
    return torch.nn.functional.cross_entropy(y.float(), torch.zeros(len(y), dtype=torch.long)) + torch.tensor(3)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.first, self.second = torch.nn.LayerNorm(8), torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x: torch.Tensor, *, keep: float = 1.0) -> torch.Tensor:
        q = self.second(torch.nn.functional.silu(self.first(self.norm(x))))
        return torch.nn.functional.scaled_dot_product_attention(q[None], q[None], q[None], is_causal=True) * keep


PROGRAMS: dict[str, tuple[Callable[[], Any], tuple[Any, ...], dict[str, Any]]] = {
    "branches": (lambda: branches, (torch.ones(3, 4, requires_grad=True), True, 0.5, "a'b\"c"), {}),
    "in place": (lambda: in_place, (torch.ones(4, 2),), {}),
    "casts": (lambda: casts, (torch.ones(2, 8), torch.ones(4, 8, requires_grad=True)), {}),
    "module": (Block, (torch.ones(3, 8),), {}),
    "module, torch.compile": (Block, (torch.ones(3, 8),), {"executors": [torch_compile_ex]}),
    "symbolic": (lambda: lambda x: x.reshape(-1) * x.shape[0], (torch.ones(3, 4),), {"cache": "symbolic values"}),
}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """Every text that is rendered, beside thunder's own."""
    pairs: list[tuple[str, str]] = []
    render = _rendering.Renderer.render

    def both(self: Any, trace: Any, known: Any = None) -> Any:
        rendering = render(self, trace, known)
        pairs.append((rendering.text, str(trace)))
        return rendering

    monkeypatch.setattr(_rendering.Renderer, "render", both)
    yield pairs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_text_is_thunders_own(
    program: str, record: Callable[..., Recording], compared: list[tuple[str, str]]
) -> None:
    make, inputs, options = PROGRAMS[program]
    record(Level.NVFUSER_REGION)
    thunder.jit(make(), **options)(*inputs)
    assert len(compared) > 4
    for ours, theirs in compared:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore")
def test_a_stage_that_is_said_to_change_nothing_did_not(
    record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fingerprint alone decides that: its equality must mean equal text."""
    last: dict[str, tuple[Any, str]] = {}
    checked = 0
    fingerprint = _compile_state.fingerprint

    def kept(trace: Any) -> Any:
        nonlocal checked
        found, text = fingerprint(trace), _rendering.Renderer().render(trace).body
        for other, body in last.values():
            if other == found:
                checked += 1
                assert body == text
        last[str(len(last))] = (found, text)
        return found

    monkeypatch.setattr(_compile_state, "fingerprint", kept)
    record(Level.TRACE)
    thunder.jit(Block())(torch.ones(3, 8))
    assert checked > 3


@pytest.mark.filterwarnings("ignore")
def test_most_lines_are_printed_the_quick_way(
    record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {True: 0, False: 0}
    quick = _printing.LinePrinter.print

    def counted(self: Any, bsym: Any) -> Any:
        printed = quick(self, bsym)
        counts[printed is not None] += 1
        return printed

    monkeypatch.setattr(_printing.LinePrinter, "print", counted)
    record(Level.TRACE)
    thunder.jit(Block())(torch.ones(3, 8))
    assert counts[True] > 5 * counts[False]


def test_a_printer_that_prints_otherwise_is_not_trusted() -> None:
    """What a version of thunder that prints otherwise would look like."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(torch.sin(x))

    jitted = thunder.jit(f)
    jitted(torch.ones(2))
    printer = _printing.LinePrinter()
    sines = [bsym for bsym in thunder.last_traces(jitted)[0].bound_symbols if bsym.sym.name == "sin"]
    assert not printer.knows(sines[0])
    printer.compare(sines[0], ["something else"], {}, {})
    assert printer.knows(sines[1]) and printer.print(sines[1]) is None


def test_printing_leaves_no_mark_on_the_trace() -> None:
    jitted = thunder.jit(Block())
    jitted(torch.ones(3, 8))
    trace = thunder.last_traces(jitted)[0]
    names, objects = set(trace.names), dict(trace._object_ctx)
    contexts = [(dict(bsym._import_ctx), dict(bsym._object_ctx)) for bsym in trace.bound_symbols]
    assert _rendering.Renderer().render(trace).text
    assert (set(trace.names), dict(trace._object_ctx)) == (names, objects)
    assert [(dict(bsym._import_ctx), dict(bsym._object_ctx)) for bsym in trace.bound_symbols] == contexts


def test_a_trace_that_cannot_be_printed_says_why() -> None:
    class Broken:
        def get_provenance(self) -> None:
            return None

    rendering = _rendering.Renderer().render(Broken())
    assert rendering.text == "" and "AttributeError" in rendering.error
