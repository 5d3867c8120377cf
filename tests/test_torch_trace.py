"""Level 4: what torch's structured trace holds, all of it, and nothing of the user's own logging is touched."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import thunder
import torch
from thunder.executors.torch_compile import torch_compile_ex

from thunder_otel import _kernels, _torch_trace, semconv
from thunder_otel._model import Stage
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Program, Recording

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
LINE = re.compile(r"[VIWE]\d{4} \S+ \d+ \S+\] (\{.*)")


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def read_torch_trace(folder: Path) -> list[tuple[dict[str, Any], str]]:
    """(metadata, payload) of every record that torch wrote itself."""
    records: list[tuple[dict[str, Any], list[str]]] = []
    (log,) = folder.glob("*.log")
    for line in log.read_text().splitlines():
        if line.startswith("\t"):
            records[-1][1].append(line[1:])
        else:
            records.append((json.loads(LINE.match(line)[1]), []))  # type: ignore[index]
    return [(metadata, "\n".join(lines)) for metadata, lines in records]


def ended(run: Path) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["event"] == semconv.EVENT_END]


PROGRAM = """
import warnings; warnings.filterwarnings("ignore")
import torch, thunder
from thunder.executors.torch_compile import torch_compile_ex
from thunder.dynamo import thunderfx
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Linear(4, 4))
thunder.jit(model, executors=[torch_compile_ex])(torch.ones(2, 4)).sum().backward()
def f(x):
    y = torch.sin(x)
    if y.sum() > 0:
        return y + torch.sinc(y)
    return y - 1
thunderfx(f)(torch.ones(4, 4))
own = torch.compile(torch.nn.Linear(3, 3))
for n in (2, 5):
    own(torch.ones(n, 3)).sum().backward()
print("OUT done")
"""


@pytest.mark.slow
def test_the_artefacts_are_those_that_torch_writes_itself(run_program: Callable[..., Program], tmp_path: Path) -> None:
    torch_trace = tmp_path / "torch_trace"
    # An empty cache and helper threads: the C++ compiler's phases then come from threads that know no compile.
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "2"}
    done = run_program(PROGRAM, {"THUNDER_DEBUG": "4", "TORCH_TRACE": str(torch_trace), **env})
    assert done.code == 0, done.err
    assert done.out == "OUT done\n"
    (run,) = done.runs
    theirs = read_torch_trace(torch_trace)
    stages = ended(run)

    expected = Counter(
        (_torch_trace.compile_id(metadata), _torch_trace.record_name(metadata), metadata["has_payload"])
        for metadata, _ in theirs
        if "has_payload" in metadata and "chromium_event" not in metadata
    )
    found: Counter[tuple[str, str, str]] = Counter()
    for stage in stages:
        attributes = stage["attributes"]
        if semconv.TORCH_ARTIFACT_MD5 not in attributes:
            continue
        (text,) = stage["payloads"]
        data = (run / text["path"]).read_bytes()
        assert hashlib.md5(data, usedforsecurity=False).hexdigest() == attributes[semconv.TORCH_ARTIFACT_MD5]
        found[
            attributes.get(semconv.TORCH_COMPILE_ID, ""),
            attributes[semconv.TORCH_ARTIFACT],
            attributes[semconv.TORCH_ARTIFACT_MD5],
        ] += 1
    assert sum(expected.values()) > 50
    assert found == expected

    opened = Counter(
        json.loads(text)["name"] for metadata, text in theirs if "chromium_event" in metadata and '"ph": "B"' in text
    )
    instants = Counter(
        json.loads(text)["name"] for metadata, text in theirs if "chromium_event" in metadata and '"ph": "i"' in text
    )
    phases = Counter(s["attributes"][semconv.TORCH_PHASE] for s in stages if semconv.TORCH_PHASE in s["attributes"])
    assert phases == opened + instants
    assert phases["compile_file"] > 0

    kept = [
        json.loads(line)
        for stage in stages
        for text in stage["payloads"]
        if text["key"] == semconv.TORCH_RECORDS
        for line in (run / text["path"]).read_text().splitlines()
    ]
    assert Counter(map(_torch_trace.record_name, kept)) == Counter(_torch_trace.record_name(m) for m, _ in theirs)


@pytest.mark.slow
def test_a_cache_of_torchs_hides_nothing(run_program: Callable[..., Program], tmp_path: Path) -> None:
    program = """
import torch, thunder
print("OUT", torch.compile(lambda x: torch.cos(x) + 41)(torch.zeros(3)).tolist())
"""
    env = {"THUNDER_DEBUG": "4", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    cold, warm = run_program(program, env), run_program(program, env)
    assert cold.out == warm.out == "OUT [42.0, 42.0, 42.0]\n", warm.err

    def code(run: Path) -> tuple[dict[str, Any], str, dict[str, Any]]:
        stages = ended(run)
        (made,) = (s for s in stages if s["attributes"].get(semconv.TORCH_ARTIFACT) == "inductor_output_code")
        (outer,) = (s for s in stages if s["name"] == "torch.compile 0/0")
        return made["attributes"], (run / made["payloads"][0]["path"]).read_text(), outer["attributes"]

    first, first_text, first_compile = code(cold.runs[0])
    second, second_text, second_compile = code(warm.runs[0])
    assert first[semconv.TORCH_ARTIFACT_CACHED] is False and second[semconv.TORCH_ARTIFACT_CACHED] is True
    assert first_compile[semconv.TORCH_CACHE_HIT] is False and second_compile[semconv.TORCH_CACHE_HIT] is True
    assert "fx_graph_cache_hit" in second_compile[semconv.TORCH_CACHE_EVENTS]
    assert [k.source for k in _kernels.kernels_in(first_text)] == [k.source for k in _kernels.kernels_in(second_text)]
    assert second_compile[semconv.KERNEL_COUNT] == 1
    (folder,) = first_compile[semconv.TORCH_COMPILE_DEBUG_DIRS]
    assert (Path(folder) / "output_code.py").exists()


def named(recording: Recording, prefix: str) -> list[Stage]:
    return [stage for stage in recording.sink.stages if stage.name.startswith(prefix)]


def test_a_region_of_ours_holds_torchs_phases_and_artefacts(record: Callable[..., Recording]) -> None:
    recording = record(Level.TORCH_COMPILE_DEBUG)
    thunder.jit(lambda x: torch.tanh(x) * 2 + 1, executors=[torch_compile_ex])(torch.ones(4, 4))
    (kernel,) = named(recording, semconv.SPAN_KERNEL_COMPILE)
    assert kernel.name == "thunder.kernel.compile TorchCompile0"
    assert kernel.attributes[semconv.TORCH_COMPILE_ID] == "0/0"
    assert "inductor_output_code" in kernel.attributes[semconv.TORCH_ARTIFACTS]
    (dynamo,) = named(recording, "torch.phase dynamo")
    assert dynamo.parent_id == kernel.span_id
    (code,) = named(recording, "torch.artifact inductor_output_code")
    assert code.attributes[semconv.REGION] == "TorchCompile0"
    assert "async_compile" in recording.sink.text(code, semconv.TORCH_ARTIFACT_TEXT)
    assert recording.sink.text(kernel, semconv.KERNEL_SOURCE)


def test_at_level_3_only_our_regions_are_recorded_and_no_phase(record: Callable[..., Recording]) -> None:
    recording = record(Level.NVFUSER_CODE)
    torch.compile(lambda x: x + 3)(torch.ones(2))
    thunder.jit(lambda x: torch.tanh(x) * 2 + 1, executors=[torch_compile_ex])(torch.ones(4, 4))
    assert named(recording, "torch.") == []
    (kernel,) = named(recording, semconv.SPAN_KERNEL_COMPILE)
    assert kernel.attributes[semconv.KERNEL_COUNT] == 1 and kernel.attributes[semconv.KERNEL_LANGUAGE] == "C++"


def test_a_backward_that_is_compiled_later_is_under_its_forward(record: Callable[..., Recording]) -> None:
    recording = record(Level.TORCH_COMPILE_DEBUG)
    x = torch.ones(3, requires_grad=True)
    with (  # a backward from a cache is not compiled later
        torch._inductor.config.patch("fx_graph_cache", False),
        torch._functorch.config.patch("enable_autograd_cache", False),
    ):
        torch.compile(lambda a: torch.sin(a) * torch.cos(a))(x).sum().backward()
    compiles = {stage.attributes[semconv.TORCH_COMPILE_PHASE]: stage for stage in named(recording, "torch.compile ")}
    assert {stage.name for stage in compiles.values()} == {"torch.compile 0/0"}
    assert compiles["entire_backward_compile"].parent_id == compiles["dynamo"].span_id
    backward = [
        s for s in named(recording, "torch.artifact inductor_output_code") if s.start_ns > compiles["dynamo"].end_ns
    ]
    assert len(backward) == 1


def test_a_failed_compile_of_torchs_is_an_error(record: Callable[..., Recording]) -> None:
    def broken(_gm: object, _inputs: object) -> None:
        raise RuntimeError("no backend today")

    recording = record(Level.TORCH_COMPILE_DEBUG)
    with pytest.raises(Exception, match="no backend today"):
        torch.compile(lambda x: x + 1, backend=broken)(torch.ones(2))
    (stage,) = named(recording, "torch.compile ")
    assert stage.error is not None and "no backend today" in stage.error.message


def test_a_record_of_no_compile_gets_a_span_of_its_own(record: Callable[..., Recording]) -> None:
    from torch._logging import trace_structured

    recording = record(Level.TORCH_COMPILE_DEBUG)
    trace_structured("artifact", lambda: {"name": "my_note", "encoding": "string"}, payload_fn=lambda: "hello")
    (stage,) = recording.sink.stages
    assert stage.name == "torch.artifact my_note"
    assert recording.sink.text(stage, semconv.TORCH_ARTIFACT_TEXT) == "hello"


def test_handlers_and_levels_of_torchs_loggers_stay_as_they_are(record: Callable[..., Recording]) -> None:
    logger = logging.getLogger(_kernels.LOGGER)
    before = (list(logger.handlers), logger.level, logger.propagate)
    record(Level.TORCH_COMPILE_DEBUG)
    assert [h for h in logger.handlers if h is not _kernels._handler] == before[0]
    assert (logger.level, logger.propagate) == before[1:]
    _kernels.stop()
    assert logger.handlers == before[0]


LOGGING_PROGRAM = """
import logging, torch
f = torch.compile(lambda x: torch.sin(x) + 1)
f(torch.ones(4))
import thunder
print("OUT", round(thunder.jit(torch.cos)(torch.ones(4)).sum().item(), 4))
print("OUT", logging.getLogger("torch.__trace").level, logging.getLogger("torch").propagate)
torch.compile(lambda x: torch.cos(x) + 1)(torch.ones(4))
"""


@pytest.mark.slow
def test_the_users_own_torch_logs_are_as_without_us(run_program: Callable[..., Program], tmp_path: Path) -> None:
    def run(level: str) -> tuple[Program, Counter[tuple[str, str]]]:
        folder = tmp_path / f"trace{level}"
        env = {
            "TORCH_TRACE": str(folder),
            "TORCH_LOGS": "recompiles,graph_breaks,output_code",
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / f"cache{level}"),
            "TORCH_COMPILE_DEBUG": "1",
        }
        done = run_program(LOGGING_PROGRAM, {**env, "THUNDER_DEBUG": level} if level else env)
        names = Counter(
            (_torch_trace.compile_id(metadata), _torch_trace.record_name(metadata))
            for metadata, _ in read_torch_trace(folder)
        )
        return done, names

    (bare, bare_names), (recorded, recorded_names) = run(""), run("4")
    assert recorded.code == 0, recorded.err
    assert recorded.out == bare.out and "OUT 10 " in bare.out
    assert recorded_names == bare_names
    assert recorded.err.count("[__output_code]") == bare.err.count("[__output_code]") > 0


def test_ids_are_written_as_torch_prints_them() -> None:
    assert _torch_trace.compile_id({"frame_id": 2, "frame_compile_id": 1}) == "2/1"
    assert _torch_trace.compile_id({"compiled_autograd_id": 3, "frame_id": 2, "frame_compile_id": 1}) == "!3/2/1"
    assert _torch_trace.compile_id({"compiled_autograd_id": 3}) == "!3"
    assert _torch_trace.compile_id({"str": ["a", 1]}) == ""
