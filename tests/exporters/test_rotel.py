"""A compile sent to rotel, a collector written by others that takes 4 MiB over gRPC, and what rotel passes on."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from receivers import Receiver, http_receiver

from thunder_otel import semconv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or os.uname().machine != "x86_64", reason="rotel has wheels for Linux on x86-64 only"
    ),
]
LIMIT = 4 << 20  # rotel's for a gRPC message
# A long string argument makes the text long in every stage.
PROGRAM = """
import torch, thunder
ex = thunder.extend.OperatorExecutor("table_ex")
thunder.extend.register_executor(ex)
like = lambda x, t: thunder.core.proxies.TensorProxy(like=x)
look = ex.register_operator("look", like=like, fn=lambda x, t: x + len(t))
table = "k" * 900_000
jitted = thunder.jit(lambda x: torch.sin(look(x, table)), executors=[ex])
print("OUT", jitted(torch.ones(2)).shape)
"""


@contextmanager
def rotel(folder: Path, receiver: Receiver) -> Iterator[str]:
    """A rotel that passes everything on to ``receiver``; its gRPC endpoint."""
    spec = importlib.util.find_spec("rotel")
    assert spec is not None and spec.origin is not None
    program = Path(spec.origin).parent / "rotel-agent"
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    grpc, http = (f"127.0.0.1:{one.getsockname()[1]}" for one in sockets)
    for one in sockets:
        one.close()
    command = [str(program), "start", "--otlp-grpc-endpoint", grpc, "--otlp-http-endpoint", http]
    command += ["--pid-file", str(folder / "rotel.pid"), "--log-file", str(folder / "rotel.log")]
    command += ["--exporter", "otlp", "--otlp-exporter-protocol", "http"]
    command += ["--otlp-exporter-endpoint", receiver.endpoint]
    with (folder / "rotel.out").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            _wait_for(grpc, process)
            yield f"http://{grpc}"
        finally:
            process.terminate()  # it sends on what it holds


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    host, port = address.split(":")
    for _ in range(400):
        assert process.poll() is None, "rotel ended"
        try:
            return socket.create_connection((host, int(port))).close()
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("rotel does not listen")


def compile_in(folder: Path, **variables: str) -> str:
    """Run the program in a folder; what it said on stderr."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("THUNDER_DEBUG", "OTEL_"))}
    environment = {**clean, "THUNDER_DEBUG": "trace", "THUNDER_DEBUG_EXIT_TIMEOUT": "30", **variables}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return done.stderr


def on_disk(folder: Path) -> tuple[Path, dict[str, dict[str, Any]]]:
    """The run folder, and its spans' attributes by span id."""
    (run,) = (folder / "thunder_debug").iterdir()
    spans = {}
    for line in (run / "spans.jsonl").read_text().splitlines():
        for entry in json.loads(line)["resourceSpans"]:
            for span in entry["scopeSpans"][0]["spans"]:
                spans[span["spanId"]] = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
    return run, spans


def sent_to_rotel(folder: Path, **variables: str) -> Receiver:
    """Run the program with rotel as its collector; what rotel passed on."""
    with http_receiver() as receiver:
        with rotel(folder, receiver) as endpoint:
            protocol = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_TRACES_EXPORTER": "otlp"}
            said = compile_in(folder, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **protocol, **variables)
            assert "not delivered" not in said
            receiver.wait(len(on_disk(folder)[1]))
        return receiver


def test_spans_of_more_than_a_message_arrive_whole(tmp_path: Path) -> None:
    receiver = sent_to_rotel(tmp_path, THUNDER_DEBUG_INLINE_LIMIT="2000000")
    run, spans = on_disk(tmp_path)
    assert sorted(receiver.span_ids) == sorted(spans)
    whole = 0
    for span in receiver.spans:
        for pair in span.attributes:
            if pair.key.endswith(".text"):
                path = spans[span.span_id.hex()][pair.key + semconv.PAYLOAD_PATH]
                assert pair.value.string_value == (run / path).read_text()
                whole += len(pair.value.string_value)
    assert whole > LIMIT


def test_texts_over_the_inline_limit_come_as_log_records_byte_for_byte(tmp_path: Path) -> None:
    receiver = sent_to_rotel(tmp_path)
    run, spans = on_disk(tmp_path)
    assert sorted(receiver.span_ids) == sorted(spans)
    parts: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for record in receiver.records:
        facts = {pair.key: pair.value for pair in record.attributes}
        key = (record.span_id.hex(), facts[semconv.LOG_PAYLOAD_KEY].string_value)
        parts[key][facts[semconv.LOG_PAYLOAD_PART].int_value] = record.body.string_value
    cut = {
        (span, name.removesuffix(semconv.PAYLOAD_TRUNCATED))
        for span, attributes in spans.items()
        for name in attributes
        if name.endswith(semconv.PAYLOAD_TRUNCATED)
    }
    assert cut and parts.keys() == cut
    for (span, key), texts in parts.items():
        whole = "".join(texts[number] for number in sorted(texts))
        assert whole == (run / spans[span][key + semconv.PAYLOAD_PATH]).read_text()
    assert sum(len(text) for texts in parts.values() for text in texts.values()) > LIMIT
