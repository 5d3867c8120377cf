"""The ledger of verdicts: every op that runs is in it, with what thunder's executors really said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from thunder.executors.torch_compile import torch_compile_cat_ex, torch_compile_ex
from thunder.extend import FusionExecutor, OperatorExecutor

from thunder_otel import _ledger, _verdicts, semconv
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Recording

Record = Callable[..., "Recording"]
pytestmark = pytest.mark.filterwarnings("ignore")
NO_OPS = {
    "python_return",
    "return",
    "python_del",
    "del",
    "unpack_trivial",
    "comment",
    "get_grad",
    "clear_mutable_collection",
}


def ledgers(recording: Recording) -> dict[str, list[dict[str, Any]]]:
    """Kind of trace -> its entries, of the only compile."""
    found = {}
    for stage in recording.sink.stages:
        if (stage.span_id, semconv.LEDGER_TEXT) in recording.sink.texts:
            text = recording.sink.text(stage, semconv.LEDGER_TEXT)
            found[str(stage.attributes[semconv.KIND])] = [json.loads(line) for line in text.splitlines()]
            assert stage.attributes[semconv.LEDGER_OPS] == text.count("\n")
    return found


def ops_of(trace: Any) -> Iterator[str]:
    """What a trace computes, op by op, as the names it makes; counted without the project's help."""

    def visit(bsym: Any) -> Iterator[str]:
        if bsym.sym.is_fusion:
            for sub in bsym.subsymbols:
                yield from visit(sub)
        elif bsym.sym.name not in NO_OPS and not bsym.sym.name.startswith(("unpack_", "check_")):
            yield ",".join(out.name for out in bsym.flat_proxy_outs) or bsym.sym.name

    for bsym in trace.bound_symbols:
        yield from visit(bsym)


def made(entry: dict[str, Any]) -> str:
    return ",".join(out.partition(":")[0] for out in entry["out"])


def network(x: torch.Tensor, w: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = torch.nn.functional.gelu(x @ w)
    y = torch.cat([y, x], -1)
    e = torch.nn.functional.embedding(i, w)
    top = torch.topk(y, 2)[0]
    a = torch.nn.functional.scaled_dot_product_attention(e[None], e[None], e[None])
    return (top * 2).sum() + a.sum()


def inputs() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True), torch.tensor([1, 2])


@pytest.mark.parametrize(
    "executors", [None, [torch_compile_ex], [torch_compile_cat_ex]], ids=["default", "torchcompile", "cat"]
)
def test_every_op_that_runs_is_accounted_for(record: Record, executors: Any) -> None:
    recording = record(Level.NVFUSER_REGION)
    jitted = thunder.jit(network, executors=executors)
    jitted(*inputs())
    found = ledgers(recording)
    final = {"computation": thunder.last_traces(jitted)[-1], "backward": thunder.last_backward_traces(jitted)[-1]}
    for kind, trace in final.items():
        assert [made(entry) for entry in found[kind]] == list(ops_of(trace))
        for entry in found[kind]:
            assert entry["why"] and entry["executor"], entry
            assert sum(answer["took"] for answer in entry["asked"]) >= 1, entry
            assert entry["kind"] not in (_ledger.ADDED, _ledger.MADE), entry


def test_a_gpt(record: Record) -> None:
    from litgpt import GPT, Config

    recording = record(Level.NVFUSER_REGION)
    torch.manual_seed(0)
    config = Config(n_layer=2, n_head=2, n_embd=16, block_size=16, vocab_size=32, padded_vocab_size=32)
    jitted = thunder.jit(GPT(config))
    jitted(torch.randint(0, 32, (1, 8))).sum().backward()
    found = ledgers(recording)
    assert [made(entry) for entry in found["computation"]] == list(ops_of(thunder.last_traces(jitted)[-1]))
    assert [made(entry) for entry in found["backward"]] == list(ops_of(thunder.last_backward_traces(jitted)[-1]))
    everything = [*found["computation"], *found["backward"]]
    assert not [entry for entry in everything if not entry["asked"]]
    assert {line for entry in found["computation"] for line in entry["source"] if "litgpt/model.py" in line}


def test_answers_are_those_of_the_executors_asked_directly(record: Record) -> None:
    recording = record(Level.NVFUSER_REGION)
    jitted = thunder.jit(network, executors=[torch_compile_cat_ex])
    with torch.no_grad():
        jitted(*inputs())
    before = next(t for t in thunder.last_traces(jitted) if "Remove context manager" in str(t.get_provenance()))
    executors = [one for one in thunder.compile_data(jitted).executors_list if "ad_hoc" not in str(one.name)]
    expected: Counter[tuple[str, str, bool]] = Counter()
    for bsym in before.bound_symbols:
        if bsym.sym.python_impl is not None:
            continue
        for executor in executors:
            took = executor.can_fuse(bsym) if isinstance(executor, FusionExecutor) else executor.can_execute(bsym)
            expected[str(bsym.sym.id), str(executor.name), took] += 1
            if took:
                break
    heard: Counter[tuple[str, str, bool]] = Counter()
    seen = set()
    for entry in ledgers(recording)["computation"]:
        outermost = entry["asked"][0]["op"]
        key = (outermost, *sorted(entry["source"]), entry["out"][0] if outermost == entry["op"] else "")
        if key not in seen:
            seen.add(key)
            heard.update((a["op"], a["executor"], a["took"]) for a in entry["asked"] if a["op"] == outermost)
    assert heard == {key: count for key, count in expected.items() if key in heard} and len(heard) > 10
    refused = [entry for entry in ledgers(recording)["computation"] if entry["op"] == "torch.cat"]
    assert [entry["kind"] for entry in refused] == [_verdicts.INNER]
    assert "checker cuda_device_checker refused cat: " in refused[0]["why"] and "f32 on cpu" in refused[0]["why"]


class _Alone(FusionExecutor):
    """Fuses additions, each group by itself; leaves alone what it is told to."""

    def __init__(self, name: str, required_ops: set[str] | None = None) -> None:
        super().__init__(name, version="1")
        self.required_ops = required_ops

    def fusion_pass(self, trace: Any) -> Any:
        return trace


def test_left_by_the_pass_and_taken_by_an_operator_executor(record: Record) -> None:
    calls = []
    mine = OperatorExecutor("mine")
    sine = mine.register_operator("my_sin", like=thunder.torch.sin, fn=torch.sin)
    mine.register_implementation(thunder.torch.sin, sine, checker=lambda x: calls.append(1) or x.shape[0] == 4)
    lazy = _Alone("lazy")
    lazy.register_supported(thunder.torch.add.id, lambda *args, **kwargs: True)

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) + torch.sin(x[:2]).sum()

    thunder.jit(function, executors=[mine, lazy])(torch.randn(4))
    bare, calls[:] = len(calls), []
    recording = record(Level.NVFUSER_REGION)
    thunder.jit(function, executors=[mine, lazy])(torch.randn(4))
    assert len(calls) == bare  # no checker was run once more
    entries = {entry["op"]: entry for entry in ledgers(recording)["computation"] if entry["op"] != "torch.sin"}
    sines = [entry for entry in ledgers(recording)["computation"] if entry["op"] == "torch.sin"]
    assert [entry["runs_as"] for entry in sines] == ["my_sin", "sin"]
    assert sines[0]["why"] == "claimed by mine before fusion: mine is asked before lazy"
    assert [(a["executor"], a["took"]) for a in sines[1]["asked"]] == [
        ("mine", False),
        ("lazy", False),
        ("torch", True),
    ]
    assert "<lambda> refused torch.sin: " in sines[1]["asked"][0]["why"]
    assert entries["torch.add"]["kind"] == _verdicts.LEFT
    assert [a["executor"] for a in entries["torch.add"]["asked"]] == ["mine", "lazy", "torch"]


def test_what_keeps_regions_apart(record: Record) -> None:
    opaque = OperatorExecutor("opaque")
    sine = opaque.register_operator("opaque_sin", meta=thunder.torch.sin.meta, fn=torch.sin)
    opaque.register_implementation(thunder.torch.sin, sine)
    recording = record(Level.NVFUSER_REGION)
    function = lambda x: torch.sin(x * 2 + 1) * 3 + 1  # noqa: E731
    thunder.jit(function, executors=[opaque, torch_compile_ex])(torch.randn(4))
    regions = [stage for stage in recording.sink.stages if stage.attributes.get(semconv.REGION_FINAL)]
    split = {stage.attributes[semconv.REGION]: stage.attributes.get(semconv.REGION_SPLIT_BY) for stage in regions}
    assert split["TorchCompile0"] is None
    (line,) = split["TorchCompile1"]
    assert line.startswith("opaque_sin -> t")


def test_an_execution_transform_with_several_ops(record: Record) -> None:
    mine = OperatorExecutor("mine")

    def in_two_steps(x: Any) -> Any:
        return thunder.clang.mul(thunder.clang.sin(x), 2.0)

    mine.register_implementation(thunder.torch.sin, execution_transform=in_two_steps)
    recording = record(Level.NVFUSER_REGION)
    thunder.jit(lambda x: torch.sin(x), executors=[mine])(torch.randn(4))
    entries = ledgers(recording)["computation"]
    assert [entry["op"] for entry in entries] == ["sin", "mul"]
    assert all({"op": "torch.sin", "executor": "mine", "took": True} in entry["asked"] for entry in entries)


def test_level_1_has_none_and_watches_no_executor(record: Record) -> None:
    recording = record(Level.TRACE)
    thunder.jit(network)(*inputs())
    assert ledgers(recording) == {}
    assert not hasattr(thunder.extend.Executor.can_execute, "__wrapped__")


def test_a_compile_that_raises_in_a_checker_leaves_nothing(record: Record) -> None:
    mine = OperatorExecutor("mine")
    sine = mine.register_operator("raising_sin", like=thunder.torch.sin, fn=torch.sin)
    mine.register_implementation(thunder.torch.sin, sine, checker=lambda x: 1 / 0)
    recording = record(Level.NVFUSER_REGION)
    with pytest.raises(ZeroDivisionError):
        thunder.jit(lambda x: torch.sin(x), executors=[mine])(torch.randn(4))
    thunder.jit(lambda x: torch.cos(x))(torch.randn(4))
    assert [entry["op"] for entry in ledgers(recording)["computation"]] == ["torch.cos"]
