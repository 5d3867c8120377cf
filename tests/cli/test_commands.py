"""What the commands print for a recorded run, and what bad input costs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thunder_otel import semconv
from thunder_otel.cli import _common
from thunder_otel.report._rename import renamed

Recorded = Callable[..., Path]
Cli = Callable[..., Any]
pytestmark = pytest.mark.slow
COMMANDS = [
    "tree",
    "report",
    "ls",
    "show",
    "diff",
    "why",
    "recompiles",
    "export",
    "doctor",
    "recover",
    "resend",
    "fetch",
]


def test_help_lists_the_commands_and_loads_neither_torch_nor_thunder() -> None:
    code = "import sys; from thunder_otel.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert all(command in done.stdout for command in COMMANDS)
    assert not {"torch", "thunder", "opentelemetry.sdk"} & set(done.stderr.split())


def test_tree_shows_stages_changes_regions_kernels_and_errors(cli: Cli, recorded: Recorded) -> None:
    said = cli("tree", recorded())
    assert said.code == 0
    for words in (
        "f  compile 0: first call",
        "f  compile 1: expected tensor with",
        "changed nothing",
        "codegen backward",
        "region TorchCompile0",
        "kernel.compile TorchCompile0",
        " in C++",
        "KeyError: 'absent'",
    ):
        assert words in said.out
    everything = cli("tree", recorded(), "--all").out
    assert "changed nothing" not in everything and len(everything.splitlines()) > len(said.out.splitlines())


def test_tree_as_json_holds_every_stage(cli: Cli, recorded: Recorded) -> None:
    (run,) = json.loads(cli("tree", recorded(), "--json").out)
    events = (recorded() / "events.jsonl").read_text()
    assert len(run["stages"]) == events.count(f'"event":"{semconv.EVENT_START}"')


def test_ls_lists_every_text_and_show_prints_it(cli: Cli, recorded: Recorded) -> None:
    listed = json.loads(cli("ls", recorded(), "--json").out)
    files = {str(path) for name in ("traces", "regions", "kernels") for path in (recorded() / name).iterdir()}
    assert {one["path"] for one in listed} == files
    for one in listed:
        assert cli("show", one["sha256"][:12], recorded()).out == Path(one["path"]).read_text()
    assert cli("show", Path(listed[0]["path"]).name, recorded()).code == 0
    table = cli("ls", recorded(), "--kind", "kernels").out
    assert ".cpp" in table and "codegen" not in table


def test_diff_of_alike_runs_is_empty_and_of_others_is_not(cli: Cli, recorded: Recorded) -> None:
    same = cli("diff", recorded(2), recorded(2))
    assert same.code == 0 and "no stage, text, region or kernel differs" in same.out
    other = cli("diff", recorded(2), recorded(3))
    assert other.code == 1 and "text  thunder.acquire" in other.out
    assert cli("diff", recorded(2), recorded(3), "--max-regions-lost", "0").code == 0
    exceeded = cli("diff", recorded(2), recorded(3), "--max-time-ratio", "0.001")
    assert exceeded.code == 1 and "exceeded: compiling took" in exceeded.out
    assert json.loads(cli("diff", recorded(2), recorded(3), "--json").out)["changes"]


def test_lost_regions_and_kernels_are_counted(cli: Cli, recorded: Recorded, tmp_path: Path) -> None:
    fewer = tmp_path / "fewer"
    shutil.copytree(recorded(), fewer)
    events = fewer / "events.jsonl"
    lines = [line for line in events.read_text().splitlines() if "TorchCompile0" not in line or "codegen" in line]
    events.write_text("\n".join(lines) + "\n")
    said = cli("diff", recorded(), fewer, "--max-regions-lost", "0", "--max-kernels-lost", "0")
    assert said.code == 1 and "regions were lost" in said.out and "kernels were lost" in said.out


def test_diff_of_two_texts(cli: Cli, recorded: Recorded) -> None:
    traces = [one for one in json.loads(cli("ls", recorded(), "--json").out) if "computation" in one["path"]]
    said = cli("diff", traces[0]["sha256"], traces[-1]["sha256"], "--dir", recorded())
    assert said.code == 1 and said.out.startswith("---")
    assert cli("diff", traces[0]["sha256"], traces[0]["sha256"], "--dir", recorded()).code == 0


def test_a_counter_that_started_elsewhere_is_no_change() -> None:
    first = 'def computation(x):\n  # x: "cpu f32[4]"\n  t3 = ltorch.add(x, 1)  # t3: "cpu f32[4]"\n  return t3'
    assert renamed(first) == renamed(first.replace("t3", "t77"))
    assert renamed(first) != renamed(first.replace("f32", "f64"))
    assert renamed(first) != renamed(first.replace(", 1)", ", 2)"))
    assert renamed("# Constructed by DCE (took 3 milliseconds)") == renamed(
        "# Constructed by DCE (took 14 milliseconds)"
    )


def test_recompiles_name_entry_guard_and_words(cli: Cli, recorded: Recorded) -> None:
    said = cli("recompiles", recorded())
    assert "check_tensor" in said.out and "(8,)" in said.out and "(9,)" in said.out and "1 recompile," in said.out
    (row,) = json.loads(cli("recompiles", recorded(), "--json").out)
    assert (row["function"], row["compile"], row["guards"][0]["entry"]) == ("f", 1, 0)


def test_why_names_the_checker_that_refused(cli: Cli, recorded: Recorded) -> None:
    said = cli("why", "cat", recorded())
    assert "checker cuda_device_checker refused" in said.out and "on cpu" in said.out
    assert "torchcompile_cat: " in said.out and "torch: took it" in said.out
    found = json.loads(cli("why", "cat", recorded(), "--json").out)
    assert {entry["trace"] for entry in found} == {"computation"} and found[0]["executor"] == "torch"
    summary = cli("why", "", recorded()).out
    assert "its checker refused" in summary or "an op inside it cannot be fused" in summary


def test_resend_and_fetch_give_back_what_was_recorded(
    cli: Cli, recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from receivers import grpc_receiver

    folder = tmp_path / "run"
    shutil.copytree(recorded(), folder)
    count = len((folder / "spans.jsonl").read_text().splitlines())
    with grpc_receiver() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
        said = cli("resend", folder)
        assert said.code == 0 and f"{count} spans and 0 long texts sent to grpc 127.0.0.1" in said.out
        (again,) = json.loads(cli("resend", folder, "--json").out)
    assert (again["sent"], again["before"], len(set(receiver.span_ids))) == (0, count, count)
    records = tmp_path / "records.jsonl"
    body = {"stringValue": "text"}
    digest = hashlib.sha256(b"text").hexdigest()
    attributes = {
        semconv.LOG_PAYLOAD_KEY: {"stringValue": semconv.TRACE_TEXT},
        semconv.LOG_PAYLOAD_SHA256: {"stringValue": digest},
        semconv.LOG_PAYLOAD_PART: {"intValue": "0"},
        semconv.LOG_PAYLOAD_PARTS: {"intValue": "1"},
    }
    record = {
        "spanId": "0a",
        "traceId": "0b",
        "body": body,
        "attributes": [{"key": k, "value": v} for k, v in attributes.items()],
    }
    records.write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}) + "\n")
    assert cli("fetch", records, "-o", tmp_path / "texts").code == 0
    (text,) = (tmp_path / "texts").iterdir()
    assert text.read_text() == "text"
    records.write_text(records.read_text().replace(digest, "0" * 64))
    broken = cli("fetch", tmp_path / "records.jsonl", "-o", tmp_path / "other")
    assert broken.code == 1 and "another hash" in broken.err


def test_export_opens_in_perfetto(cli: Cli, recorded: Recorded, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    assert cli("export", recorded(), "--perfetto", "-o", path).code == 0
    events = json.loads(path.read_text())["traceEvents"]
    stages = [event for event in events if event["ph"] == "X"]
    assert {event["ph"] for event in events} <= {"M", "X", "B"}
    assert all(event["dur"] >= 0 and event["ts"] > 1e15 for event in stages)
    assert any(event["name"] == semconv.SPAN_COMPILE for event in stages)
    assert cli("export", recorded()).code == 2
    assert "cannot be written" in cli("export", recorded(), "--perfetto", "-o", tmp_path / "no" / "t.json").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tree", "/nowhere"), "/nowhere"),
        (("ls", "RUN", "--kind", "trace"), "did you mean traces?"),
        (("show", "zzzz", "RUN"), "`thunder-otel ls` lists them"),
        (("show", "0", "RUN"), "names"),
        (("why", "catt", "RUN"), "no op like catt ran; did you mean cat?"),
        (("resend", "RUN", "--timeout", "0.1"), "not delivered"),
        (("fetch", "/nowhere.jsonl"), "/nowhere.jsonl"),
        (("recover", "/nowhere"), "/nowhere"),
    ],
)
def test_bad_input_costs_one_line(
    arguments: tuple[str, ...],
    words: str,
    cli: Cli,
    recorded: Recorded,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    said = cli(*[recorded() if argument == "RUN" else argument for argument in arguments])
    assert said.code in (1, 2) and words in said.err
    assert said.err.count("\n") == 1


def test_recover_says_that_nothing_was_open(cli: Cli, recorded: Recorded) -> None:
    assert "no stage was open" in cli("recover", recorded()).out
    (found,) = json.loads(cli("recover", recorded(), "--json").out)
    assert found["open_stages"] == [] and found["path"] is None


def test_recover_makes_spans_of_what_was_open_and_of_what_was_not_written(
    cli: Cli, recorded: Recorded, tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    shutil.copytree(recorded(), folder)
    events = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "events.jsonl").write_bytes(b"".join(events[:21]) + events[21][: len(events[21]) // 2])
    ended = sum(b"thunder.stage.end" in line for line in events[:21])
    spans = (folder / "spans.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "spans.jsonl").write_bytes(b"".join(spans[: ended - 1]) + spans[ended - 1][:50])
    said = cli("recover", folder)
    assert "thunder.compile of f was open" in said.out and "last good trace: " in said.out
    assert "1 finished stages had no span yet" in said.out and "1 events were torn" in said.out
    first = (folder / "recovered.jsonl").read_bytes()
    cli("recover", folder)
    assert (folder / "recovered.jsonl").read_bytes() == first
    names = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in first.splitlines()]
    assert all(any(pair["key"] == semconv.RECOVERED for pair in span["attributes"]) for span in names)


def test_doctor_finds_what_is_there(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THUNDER_DEBUG", "3")
    said = json.loads(cli("doctor", "--json").out)
    assert said["ok"] and said["verdict"] == "ready: the next compile will be recorded"
    words = [finding["what"] for finding in said["findings"]]
    assert any(word.startswith("3/nvfuser_code (from THUNDER_DEBUG)") for word in words)
    assert any(re.match(r"\d+ of \d+ seams found", word) for word in words)


def test_doctor_names_what_is_in_the_way(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("THUNDER_DEBUG", "trase")
    monkeypatch.setenv("THUNDER_DEBUG_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp,nosuch")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:s3cret@127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret")
    monkeypatch.setenv("CXX", "no-such-compiler")
    said = cli("doctor")
    assert said.code == 1
    for words in (
        "Did you mean trace?",
        "cannot be written",
        "nosuch",
        "127.0.0.1:1 cannot be reached",
        "no-such-compiler",
    ):
        assert words in said.out
    assert "s3cret" not in said.out


@pytest.mark.parametrize(
    ("torch", "words", "code"),
    [
        ("2.13.0", "thunder 0.2.6 cannot be imported with torch 2.13", 1),
        ("2.12.1", "ThunderFX does not work with torch 2.12", 0),
        ("2.6.0", "thunder needs torch 2.7.1", 1),
        (None, "torch is not installed", 1),
    ],
)
def test_doctor_knows_which_torch_works(
    torch: str | None, words: str, code: int, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from thunder_otel.cli import _checks

    monkeypatch.chdir(tmp_path)
    known = _checks._version
    monkeypatch.setattr(_checks, "_version", lambda name: torch if name == "torch" else known(name))
    said = cli("doctor")
    assert words in said.out and said.code == code


def test_doctor_says_when_thunder_cannot_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As with a torch that lacks what thunder reads at import."""
    from thunder_otel.cli import _checks

    (tmp_path / "thunder.py").write_text("import torch.absent")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (finding,) = _checks.seams()
    assert finding.state == "problem" and "thunder cannot be imported: ModuleNotFoundError" in finding.what


def test_a_bar_says_how_far_it_is_on_a_terminal_and_nothing_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(_common.tracked([1, 2, 3], "reading")) == [1, 2, 3]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(_common.tracked([1, 2, 3], "reading")) == [1, 2, 3]
    assert "reading" in capsys.readouterr().err
    assert list(_common.tracked([1], "reading")) == [1]
    assert capsys.readouterr().err == ""
