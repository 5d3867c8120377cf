"""The OTLP exporter against real receivers: by bytes, through outages, with nothing lost unsaid."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from receivers import LOGS, Receiver, grpc_receiver, http_receiver
from thunder_otel_exporters._delivered import FolderInUse, Ledger
from thunder_otel_exporters.fetch import fetch
from thunder_otel_exporters.otlp import OtlpExporter
from thunder_otel_exporters.resend import Resent, resend

from thunder_otel import semconv

RECEIVERS = {"grpc": grpc_receiver, "http/protobuf": http_receiver}
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(params=sorted(RECEIVERS))
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", request.param)
    return str(request.param)


def point_to(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)


def resend_when_free(folder: Path) -> Resent:
    """A request that nobody answers ends by its own timeout only; until then the folder is in use."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return resend(folder)
        except FolderInUse:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def attributes(message: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in message.attributes}


def texts_of(receiver: Receiver) -> dict[str, bytes]:
    """The texts that came in log records, by span id."""
    parts: dict[str, dict[int, bytes]] = {}
    for record in receiver.records:
        number = attributes(record)[semconv.LOG_PAYLOAD_PART]
        parts.setdefault(record.span_id.hex(), {})[number] = record.body.string_value.encode()
    return {span: b"".join(body for _, body in sorted(found.items())) for span, found in parts.items()}


def test_ten_spans_of_450_kb_all_arrive_with_their_whole_texts(
    protocol: str, monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any
) -> None:
    texts = [f"# {number}\n" + f"  t{number} = prims.add(a, b)\n" * 16_000 for number in range(10)]
    with RECEIVERS[protocol]() as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter)
        stages(made, texts)
        made.sinks[1].close()
    assert len(receiver.spans) == len(set(receiver.span_ids)) == 11
    assert max(receiver.sizes) <= made.settings.otlp_limit
    for span in receiver.spans:
        found = attributes(span)
        if semconv.TRACE_TEXT in found:
            whole = texts_of(receiver)[span.span_id.hex()]
            assert whole.decode().startswith(found[semconv.TRACE_TEXT])
            assert hashlib.sha256(whole).hexdigest() == found[semconv.TRACE_TEXT + semconv.PAYLOAD_SHA256]
            assert len(whole) == found[semconv.TRACE_TEXT + semconv.PAYLOAD_SIZE]


def test_a_text_without_line_breaks_is_cut_between_characters(
    protocol: str, monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any
) -> None:
    text = "aé漢😀" * 300_000
    with RECEIVERS[protocol]() as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter, files=False, otlp_limit=100_000)
        stages(made, [text])
        made.sinks[0].close()
    assert list(texts_of(receiver).values()) == [text.encode()]
    assert max(receiver.sizes) <= 100_000


@pytest.mark.parametrize("status", [503, 429, 500])
def test_http_errors_that_pass_are_tried_again(
    status: int, monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    with http_receiver(lambda _path, number: status if number <= 2 else None) as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter, exit_timeout=20.0)
        stages(made, ["text"])
        receiver.wait(2)
    assert len(receiver.spans) == 2


def test_a_receiver_with_a_smaller_limit_gets_smaller_requests(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any
) -> None:
    """RESOURCE_EXHAUSTED for more than 40 kB, as a receiver set so would say."""
    limit = 40_000
    with grpc_receiver() as receiver:
        take = receiver.take
        receiver.take = lambda path, data: (  # type: ignore[method-assign]
            grpc.StatusCode.RESOURCE_EXHAUSTED if len(data) > limit else take(path, data)
        )
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter)
        stages(made, ["x = 1\n" * 5_000] * 4)
        made.sinks[1].close()
    assert len(set(receiver.span_ids)) == 5
    assert max(receiver.sizes) <= limit


@pytest.mark.parametrize("kind", ["refused", "silent"])
def test_a_dead_collector_costs_at_most_the_exit_time_and_resend_delivers_once(
    kind: str,
    protocol: str,
    monkeypatch: pytest.MonkeyPatch,
    recorder: Any,
    stages: Any,
    run_folder: Callable[[], Path],
    capfd: pytest.CaptureFixture[str],
) -> None:
    with contextlib.closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        if kind == "silent":
            server.listen(5)
        point_to(monkeypatch, f"http://127.0.0.1:{server.getsockname()[1]}")
        made = recorder(OtlpExporter, exit_timeout=2.0)
        begun = time.perf_counter()
        stages(made, ["a\n" * 100_000, "b"])
        recorded = time.perf_counter() - begun
        made.sinks[1].close()
        ended = time.perf_counter() - begun
    assert recorded < 0.5 and ended < recorded + 2.5
    err = capfd.readouterr().err
    assert "3 of 3 spans were not delivered to" in err and "thunder-otel resend" in err
    with RECEIVERS[protocol]() as receiver:
        point_to(monkeypatch, receiver.endpoint)
        first, second = resend_when_free(run_folder()), resend(run_folder())
    assert (first.sent, first.texts, first.left, second.sent, second.before) == (3, 1, 0, 0, 3)
    assert len(receiver.spans) == len(set(receiver.span_ids)) == 3


def test_a_restart_in_mid_run_loses_and_doubles_nothing(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any, run_folder: Callable[[], Path]
) -> None:
    with grpc_receiver() as before:
        point_to(monkeypatch, before.endpoint)
        made = recorder(OtlpExporter, exit_timeout=1.0)
        stages(made, ["a"])
        before.wait(2)
    stages(made, ["b"])
    with grpc_receiver(port=int(before.endpoint.rpartition(":")[2])) as after:
        made.sinks[1].close()
        resend(run_folder())
    ids = before.span_ids + after.span_ids
    assert len(ids) == len(set(ids)) == 4


def test_what_finds_no_room_in_memory_is_sent_from_disk(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any
) -> None:
    with grpc_receiver() as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter, queue_limit=70_000, exit_timeout=20.0)
        stages(made, ["y = 2\n" * 5_000] * 30)
        receiver.wait(31)
        made.sinks[1].close()
    assert len(receiver.spans) == len(set(receiver.span_ids)) == 31


def test_without_files_what_finds_no_room_is_said_to_be_lost(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    point_to(monkeypatch, "http://127.0.0.1:1")
    made = recorder(OtlpExporter, files=False, queue_limit=70_000, exit_timeout=0.5)
    stages(made, ["y = 2\n" * 5_000] * 10)
    made.sinks[0].close()
    err = capfd.readouterr().err
    assert "find no room to wait are lost" in err
    assert "11 of 11 spans were not delivered" in err and "they are lost" in err


def test_a_receiver_without_logs_is_said_once(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with grpc_receiver(lambda path, _number: grpc.StatusCode.UNIMPLEMENTED if path == LOGS else None) as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter)
        stages(made, ["z\n" * 100_000] * 3)
        made.sinks[1].close()
    assert len(receiver.spans) == 4
    assert capfd.readouterr().err.count("takes no log records") == 1


def test_refused_credentials_keep_everything_on_disk_and_show_no_secret(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret")
    with http_receiver(lambda _path, _number: 401) as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter)
        stages(made, ["a"])
        made.sinks[1].close()
    assert receiver.headers[0]["authorization"] == "Bearer s3cret"
    err = capfd.readouterr().err
    assert "HTTP 401" in err and "s3cret" not in err


def test_requests_are_compressed(monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    with http_receiver() as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter)
        stages(made, ["a"])
        made.sinks[1].close()
    assert receiver.headers[0]["Content-Encoding"] == "gzip"


def test_a_folder_that_is_being_sent_is_not_resent(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any, run_folder: Callable[[], Path]
) -> None:
    stages(recorder(), ["a"])
    ledger = Ledger(run_folder())
    with pytest.raises(FolderInUse):
        resend(run_folder())
    ledger.close()


def test_fetch_puts_texts_together_from_records_in_any_order(
    monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any, tmp_path: Path
) -> None:
    from google.protobuf.json_format import MessageToDict

    text = "".join(f"line {number} é\n" for number in range(20_000))
    with grpc_receiver() as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter, otlp_limit=100_000)
        stages(made, [text])
        made.sinks[1].close()
    lines = io.StringIO()
    for record in reversed(receiver.records):
        entry = MessageToDict(record)
        entry["spanId"], entry["traceId"] = record.span_id.hex(), record.trace_id.hex()
        lines.write(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [entry]}]}]}) + "\n")
    path = tmp_path / "texts.jsonl"
    path.write_text("not JSON\n" + lines.getvalue())
    (found,) = fetch([path])
    assert (found.data, found.problem) == (text.encode(), "")
    path.write_text("".join(lines.getvalue().splitlines(keepends=True)[1:]))
    (found,) = fetch([path])
    assert found.data is None and "parts are missing" in found.problem


def test_force_flush_waits_for_the_receiver(monkeypatch: pytest.MonkeyPatch, recorder: Any, stages: Any) -> None:
    with grpc_receiver() as receiver:
        point_to(monkeypatch, receiver.endpoint)
        made = recorder(OtlpExporter)
        assert made.sinks[1].force_flush(10)
        stages(made, ["a"])
        assert made.sinks[1].force_flush(10_000)
        assert len(receiver.spans) == 2
        made.sinks[1].close()
