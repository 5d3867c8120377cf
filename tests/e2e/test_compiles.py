"""Real compiles to a real Jaeger, and back through its query API."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jaeger_server import Collector, Jaeger, OtlpServer
from thunder_otel_exporters.fetch import fetch
from thunder_otel_exporters.resend import resend

from thunder_otel import semconv

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PROGRAM = """
import torch, thunder
from thunder.executors.torch_compile import torch_compile_ex

def block(x, n):
    for i in range(n):
        x = torch.sin(x) * 1.5 + torch.cos(x)
    return x

jitted = thunder.jit(block, executors=[torch_compile_ex])
jitted(torch.ones(4, requires_grad=True), 120).sum().backward()
jitted(torch.ones(5, requires_grad=True), 1)
try:
    thunder.jit(lambda x: x + {}["absent"])(torch.ones(2))
except KeyError:
    pass
"""
WORKERS = """
import torch, thunder, threading
torch.set_num_threads(1)

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return thunder.jit(lambda x: x * (index + 1))(torch.ones(2))

Data()[0]  # thunder imports modules in its first compile: a worker forked just then waits for ever, recorded or not
stop = threading.Event()
def compile_on():
    n = 0
    while not stop.is_set():
        n += 1
        thunder.jit(lambda x: torch.sin(x) * n)(torch.ones(2))

thread = threading.Thread(target=compile_on); thread.start()
total = sum(batch.sum().item() for batch in torch.utils.data.DataLoader(Data(), batch_size=1, num_workers=8))
stop.set(); thread.join()
print("OUT", total)
"""
RANKS = """
import torch, thunder, thunder.distributed, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(0)
model = thunder.distributed.ddp(thunder.jit(torch.nn.Linear(4, 4)))
model(torch.ones(2, 4)).sum().backward()
dist.barrier(); dist.destroy_process_group()
"""


def run(folder: Path, command: list[str], variables: dict[str, str]) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
    environment = {**clean, "THUNDER_DEBUG": "3", "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment |= {"THUNDER_DEBUG_EXIT_TIMEOUT": "30", **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def traceparent() -> tuple[str, str]:
    """A trace id, and the variable that puts a program under it."""
    trace_id = secrets.token_hex(16)
    return trace_id, f"00-{trace_id}-{secrets.token_hex(8)}-01"


def python(source: str) -> list[str]:
    return [sys.executable, "-W", "ignore", "-c", source]


def on_disk(folder: Path) -> dict[str, dict[str, Any]]:
    """Every finished span in the run folders, by id; each line must be whole."""
    found: dict[str, dict[str, Any]] = {}
    for path in folder.glob("thunder_debug/*/spans.jsonl"):
        for line in path.read_bytes().splitlines():
            for entry in json.loads(line)["resourceSpans"]:
                for span in entry["scopeSpans"][0]["spans"]:
                    assert span["spanId"] not in found
                    found[span["spanId"]] = span
    return found


def values(span: dict[str, Any]) -> dict[str, Any]:
    return {pair["key"]: next(iter(pair["value"].values()), None) for pair in span.get("attributes", ())}


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_compile_comes_back_as_it_was_sent(default_jaeger: Jaeger, protocol: str, tmp_path: Path) -> None:
    """A receiver with the default limits: spans, parents, times, and texts byte for byte up to the inline limit."""
    trace_id, parent = traceparent()
    run(tmp_path, python(PROGRAM), {**default_jaeger.otel_env(protocol), "TRACEPARENT": parent})
    sent = on_disk(tmp_path)
    found = {span.span_id: span for span in default_jaeger.trace(trace_id, len(sent))}
    assert len(sent) > 100 and found.keys() == sent.keys()
    exact = {span["spanId"]: span for span in default_jaeger.trace_otlp(trace_id)}
    whole = 0
    for key, span in sent.items():
        got = found[key]
        assert (got.name, got.parent_id) == (span["name"], span.get("parentSpanId"))
        assert exact[key]["startTimeUnixNano"] == span["startTimeUnixNano"]
        assert exact[key]["endTimeUnixNano"] == span["endTimeUnixNano"]
        for name, value in values(span).items():
            if isinstance(value, str) and name.endswith((".text", ".source")):
                assert got.tags[name] == value
                whole += 1
    assert whole > 20


def test_people_can_search_by_function_stage_kind_and_error(jaeger: Jaeger, tmp_path: Path) -> None:
    service = f"search-{secrets.token_hex(4)}"
    run(tmp_path, python(PROGRAM), {**jaeger.otel_env("grpc"), "OTEL_SERVICE_NAME": service})
    for tags in (
        {semconv.FN: "block"},
        {semconv.STAGE: "claim"},
        {semconv.KIND: "backward"},
        {semconv.ERROR_TYPE: "KeyError"},
        {semconv.COMPILE_INDEX: "1"},
    ):
        assert jaeger.search(service, **tags), tags
    assert jaeger.search(service, operation="thunder.kernel.compile TorchCompile0")


def test_long_texts_come_through_the_collector_byte_for_byte(
    collector: Collector, jaeger: Jaeger, tmp_path: Path
) -> None:
    trace_id, parent = traceparent()
    small = {"THUNDER_DEBUG_INLINE_LIMIT": "2000", "TRACEPARENT": parent}
    run(tmp_path, python(PROGRAM), {**collector.otel_env("grpc"), **small})
    sent = on_disk(tmp_path)
    assert len(jaeger.trace(trace_id, len(sent))) == len(sent)
    cut = {
        (key, name.removesuffix(semconv.PAYLOAD_TRUNCATED)): span
        for key, span in sent.items()
        for name in values(span)
        if name.endswith(semconv.PAYLOAD_TRUNCATED)
    }
    collector.stop()
    texts = {(text.span_id, text.key): text for text in fetch([collector.texts])}
    assert cut and texts.keys() == cut.keys()
    (folder,) = tmp_path.glob("thunder_debug/*")
    for (key, name), span in cut.items():
        assert texts[key, name].data == (folder / values(span)[name + semconv.PAYLOAD_PATH]).read_bytes()


def test_a_jaeger_that_was_away_gets_everything_once(jaeger_binaries: None, tmp_path: Path) -> None:
    with Jaeger(tmp_path / "jaeger", env={"JAEGER_MAX_TRACES": "1000"}) as server:
        variables = server.otel_env("grpc")
        server.stop()
        trace_id, parent = traceparent()
        said = run(tmp_path, python(PROGRAM), {**variables, "TRACEPARENT": parent, "THUNDER_DEBUG_EXIT_TIMEOUT": "1"})
        assert "were not delivered" in said and "thunder-otel resend" in said
        server.start()
        sent = on_disk(tmp_path)
        (folder,) = tmp_path.glob("thunder_debug/*")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            assert resend(folder).left == 0
            assert resend(folder).sent == 0
        found = server.trace(trace_id, len(sent))
        assert sorted(span.span_id for span in found) == sorted(sent)


def test_dataloader_workers_forked_during_compiles(jaeger: Jaeger, tmp_path: Path) -> None:
    trace_id, parent = traceparent()
    said = run(tmp_path, python(WORKERS), {**jaeger.otel_env("grpc"), "TRACEPARENT": parent})
    assert f"OUT {2.0 * sum(range(1, 17))}" in said
    sent = on_disk(tmp_path)
    assert len(list(tmp_path.glob("thunder_debug/*"))) == 9
    _everything_is_there(jaeger, tmp_path, trace_id, sent)


def test_four_ranks_hang_under_one_trace(jaeger: Jaeger, tmp_path: Path) -> None:
    trace_id, parent = traceparent()
    (tmp_path / "ranks.py").write_text(RANKS)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=4", "--standalone", "ranks.py"]
    run(tmp_path, command, {**jaeger.otel_env("grpc"), "TRACEPARENT": parent})
    names = sorted(path.name for path in tmp_path.glob("thunder_debug/*"))
    assert [name.rpartition("-")[2] for name in sorted(names, key=lambda name: name[-1])] == [
        f"rank{n}" for n in range(4)
    ]
    sent = on_disk(tmp_path)
    _everything_is_there(jaeger, tmp_path, trace_id, sent)
    ranks = {span.resource[semconv.RANK] for span in jaeger.trace(trace_id, len(sent))}
    assert ranks == {0, 1, 2, 3}


def _everything_is_there(server: OtlpServer, folder: Path, trace_id: str, sent: dict[str, Any]) -> None:
    """A worker that ends by ``os._exit`` has no time to send: what it left is on disk, and is sent afterwards."""
    assert isinstance(server, Jaeger)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.otel_env("grpc").items():
            patch.setenv(name, value)
        for run_folder in folder.glob("thunder_debug/*"):
            assert resend(run_folder).left == 0
    found = [span.span_id for span in server.trace(trace_id, len(sent), timeout=30)]
    assert sorted(found) == sorted(sent)
