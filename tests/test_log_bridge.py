"""Logging both ways: the program's lines carry the stage's ids, our events go where the program likes."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
import thunder
import torch
from opentelemetry import trace as otel
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from thunder.core.transform_common import Transform

from thunder_otel import logs, semconv
from thunder_otel._log_bridge import (
    StageFilter,
    add_processor,
    add_stage_ids,
    current_ids,
    send_events_as_otel_logs,
    set_logger,
)
from thunder_otel.settings import Level

if TYPE_CHECKING:
    from conftest import Program, Recording

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
CASES = Path(__file__).parent / "cases"


@pytest.fixture(autouse=True)
def structlog_as_it_was() -> Iterator[None]:
    config = structlog.get_config()
    yield
    structlog.configure(**config)
    assert logs._receivers == [] and logs._user_processors == []


@pytest.fixture
def program_log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """The program's stdlib logger, with a handler that names our fields."""
    logger, stream = logging.getLogger("program"), io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s|%(trace_id)s|%(span_id)s|%(thunder_stage)s"))
    handler.addFilter(StageFilter())
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield logger, stream
    logger.removeHandler(handler)


class Talkative(Transform):
    """A transform of the program's that logs."""

    def __init__(self, say: Callable[[], object]) -> None:
        self.say = say

    def transform_traces_pre_prologue(self, prologue: Any, computation: Any, epilogue: Any, **_: Any) -> Any:
        self.say()
        return prologue, computation, epilogue


def test_stdlib_lines_inside_a_stage_carry_its_ids(
    record: Callable[..., Recording], program_log: tuple[logging.Logger, io.StringIO]
) -> None:
    recording = record(Level.TRACE)
    logger, stream = program_log
    logger.info("before")
    thunder.jit(torch.sin, transforms=[Talkative(lambda: logger.info("inside"))])(torch.ones(2))
    logger.info("after")
    before, inside, after = stream.getvalue().splitlines()
    [stage] = recording.sink.named("thunder.transform Talkative")
    assert inside == f"inside|{stage.trace_id}|{stage.span_id}|transform-Talkative"
    assert (before, after) == ("before|||", "after|||")


def test_a_line_in_code_that_thunder_interprets_carries_the_ids_of_the_acquisition(
    run_program: Callable[..., Program],
) -> None:
    """In a program of its own: thunder would interpret pytest's log handlers, and cannot."""
    done = run_program(
        """
import logging, sys, torch, thunder, thunder_otel
logger, handler = logging.getLogger("program"), logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(message)s|%(trace_id)s|%(span_id)s|%(thunder_stage)s"))
handler.addFilter(thunder_otel.StageFilter())
logger.addHandler(handler)
def traced(x):
    logger.warning("while traced")
    return torch.sin(x)
jitted = thunder.jit(traced)
assert torch.equal(jitted(torch.ones(2)), torch.sin(torch.ones(2)))
jitted(torch.ones(2))
assert thunder.cache_misses(jitted) == 1  # our ids are no guard
""",
        {"THUNDER_DEBUG": "trace"},
    )
    assert done.code == 0, done.err
    events = [json.loads(line) for line in (done.runs[0] / "events.jsonl").read_text().splitlines()]
    stage = next(event for event in events if event["name"] == "thunder.acquire")
    assert done.out.splitlines() == [f"while traced|{stage['trace_id']}|{stage['span_id']}|acquire"]


@pytest.mark.parametrize("cached", [True, False])
def test_structlog_lines_carry_the_ids_also_from_interpreted_code(
    cached: bool, record: Callable[..., Recording]
) -> None:
    recording = record(Level.TRACE)
    lines: list[dict[str, Any]] = []

    def keep(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Any:
        lines.append(dict(event))
        raise structlog.DropEvent

    structlog.configure(processors=[add_stage_ids, keep], cache_logger_on_first_use=cached)
    log = structlog.get_logger().bind(mine=1)

    def traced(x: torch.Tensor) -> torch.Tensor:
        log.info("while traced")
        return torch.sin(x)

    log.info("before", trace_id="the program's own")
    jitted = thunder.jit(traced, transforms=[Talkative(lambda: log.info("in a pass"))])
    jitted(torch.ones(2))
    jitted(torch.ones(2))
    assert thunder.cache_misses(jitted) == 1
    stages = {"while traced": "thunder.acquire", "in a pass": "thunder.transform Talkative"}
    assert lines[0] == {"mine": 1, "event": "before", "trace_id": "the program's own"}
    assert [line["event"] for line in lines[1:]] == list(stages)
    for line in lines[1:]:
        [stage] = recording.sink.named(stages[line["event"]])
        assert (line["trace_id"], line["span_id"], line["mine"]) == (stage.trace_id, stage.span_id, 1)


def test_no_stage_becomes_the_current_span(record: Callable[..., Recording]) -> None:
    record(Level.TRACE)
    seen: list[Any] = []
    look = Talkative(lambda: seen.append((otel.get_current_span(), current_ids()["stage"])))
    thunder.jit(torch.sin, transforms=[look])(torch.ones(2))
    assert seen == [(otel.INVALID_SPAN, "transform-Talkative")]


def test_outside_a_compile_the_ids_are_those_of_the_application() -> None:
    assert current_ids() == {"trace_id": "", "span_id": "", "stage": ""}
    span = otel.NonRecordingSpan(otel.SpanContext(0xAB, 0xCD, False))
    with otel.use_span(span):
        assert current_ids() == {"trace_id": f"{0xAB:032x}", "span_id": f"{0xCD:016x}", "stage": ""}
        assert add_stage_ids(None, "info", {"event": "x"})["span_id"] == f"{0xCD:016x}"
    untouched = {"event": "x"}
    assert add_stage_ids(None, "info", untouched) == {"event": "x"}


def test_events_go_out_as_otel_logs_of_their_spans(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    with send_events_as_otel_logs(provider), pytest.raises(RuntimeError):
        thunder.jit(lambda x: torch.mm(x, x))(torch.ones(2))
    stages = len(recording.sink.stages)
    thunder.jit(torch.sin)(torch.ones(2))  # after the block: not sent
    sent = [item.log_record for item in exporter.get_finished_logs()]
    assert len(sent) == 2 * stages > 0
    last = sent[-1]
    root = recording.sink.named("thunder.compile")[0]
    assert (last.event_name, last.body) == (semconv.EVENT_END, "thunder.compile")
    assert (f"{last.trace_id:032x}", f"{last.span_id:016x}") == (root.trace_id, root.span_id)
    assert last.severity_number is SeverityNumber.ERROR
    assert last.attributes is not None and root.error is not None
    assert last.attributes[semconv.EXCEPTION_MESSAGE] == root.error.message
    assert sent[0].severity_number is SeverityNumber.INFO


def test_without_a_logger_provider_nothing_is_sent_and_nothing_breaks(
    record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]
) -> None:
    record(Level.TRACE)
    with send_events_as_otel_logs():
        thunder.jit(torch.sin)(torch.ones(2))
    assert capfd.readouterr().err == ""


def test_a_logger_of_the_program_gets_every_event(record: Callable[..., Recording]) -> None:
    recording = record(Level.TRACE)
    with structlog.testing.capture_logs() as captured:
        log = structlog.get_logger()
        with set_logger(log):
            thunder.jit(torch.sin)(torch.ones(2))
            stages = len(recording.sink.stages)
        thunder.jit(torch.cos)(torch.ones(2))
    assert len(captured) == 2 * stages > 0
    assert captured[0]["event"] == semconv.EVENT_START
    assert {"trace_id", "span_id", "name"} <= captured[0].keys()


def test_processors_see_every_event_first_and_may_drop_it(
    record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]
) -> None:
    record(Level.TRACE)
    lines: list[bytes] = []
    stop = logs.add_writer(lines.append)

    def only_compiles(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if event["name"] != "thunder.compile":
            raise structlog.DropEvent
        event["team"] = "compilers"
        return event

    def broken(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        raise ValueError("oh")

    with add_processor(broken), add_processor(only_compiles):
        thunder.jit(torch.sin)(torch.ones(2))
    stop()
    events = [json.loads(line) for line in lines]
    assert [(event["name"], event["team"]) for event in events] == [("thunder.compile", "compilers")] * 2
    err = capfd.readouterr().err
    assert err.count("broken raised ValueError: oh and is passed over") == 1


def test_a_logger_that_raises_is_said_once(record: Callable[..., Recording], capfd: pytest.CaptureFixture[str]) -> None:
    record(Level.TRACE)
    with set_logger(object()):
        thunder.jit(torch.sin)(torch.ones(2))
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_an_application_with_a_structlog_configuration_of_its_own(run_program: Callable[..., Program]) -> None:
    done = run_program(CASES / "structlog_app_config.py", {"THUNDER_DEBUG": "trace"})
    assert done.out.splitlines() == ["OUT True 2 0 ['inside']"], done.err


def test_configured_after_us_and_in_forked_workers(run_program: Callable[..., Program]) -> None:
    done = run_program(
        """
import json, logging, os, sys
import thunder, torch
import thunder_otel
from thunder.core.transform_common import Transform
import structlog
structlog.configure(
    processors=[thunder_otel.add_stage_ids, structlog.processors.JSONRenderer()],
    logger_factory=structlog.PrintLoggerFactory(), cache_logger_on_first_use=True,
)
log = structlog.get_logger()
class Talk(Transform):
    def transform_traces_pre_prologue(self, p, c, e, **k):
        log.info("in a pass", pid=os.getpid())
        return p, c, e
def work(n):
    thunder.jit(torch.sin, transforms=[Talk()])(torch.ones(n))
work(2)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    work(3)
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
log.info("after")
""",
        {"THUNDER_DEBUG": "trace"},
    )
    assert done.code == 0, done.err
    mine, child, after = (json.loads(line) for line in done.out.splitlines())
    assert "trace_id" not in after
    assert mine["trace_id"] != child["trace_id"]
    spans = {}
    for run in done.runs:
        for line in (run / "events.jsonl").read_text().splitlines():
            event = json.loads(line)
            spans[event["span_id"]] = (event["name"], event["pid"])
    assert [spans[line["span_id"]] for line in (mine, child)] == [
        ("thunder.transform Talk", mine["pid"]),
        ("thunder.transform Talk", child["pid"]),
    ]
