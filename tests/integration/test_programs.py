"""Programs that people reported trouble with: recorded they print what they print bare, and the record shows why."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from thunder_otel_exporters.recover import recover

from thunder_otel import semconv
from thunder_otel.report._reader import Stage

from .conftest import PROGRAMS, Ended

# One line that each process writes; the folder's name differs from run to run.
SENT = {"OTEL_TRACES_EXPORTER": "otlp"}
EXTRA = {
    "otlp_four_megabytes.py": SENT,
    "dead_collector_exit.py": SENT,
    "bytes_in_path.sh": {"THUNDER_DEBUG_DIR": "FOLDER/thunder_debug"},  # it removes the folder that it runs in
}
COMPILE = semconv.SPAN_COMPILE

Run = Callable[..., Ended]


def recorded(ended: Run, program: str) -> Ended:
    return ended(program, THUNDER_DEBUG="3", **EXTRA.get(program, {}))


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted(path.name for path in PROGRAMS.iterdir() if path.suffix in (".py", ".sh")))
def test_recording_changes_nothing(ended: Run, program: str) -> None:
    bare, watched = ended(program), recorded(ended, program)
    assert watched.code == bare.code, watched.err
    assert watched.out_lines == bare.out_lines
    assert bare.out_lines
    assert not list(bare.folder.glob("thunder_debug"))
    assert "thunder_otel:" not in bare.err
    assert "Traceback" not in watched.err or "Traceback" in bare.err, watched.err


def attribute(stages: list[Stage], key: str) -> list[object]:
    return [stage.attributes.get(key) for stage in stages]


def test_a_context_variable_is_baked_in_as_bare(ended: Run) -> None:
    watched = recorded(ended, "contextvar_baked.py")
    (compile,) = watched.stages(COMPILE)
    prologue = watched.text(watched.stages(semconv.SPAN_ACQUIRE)[0], semconv.TRACE_PROLOGUE_TEXT)
    assert compile.attributes[semconv.COMPILE_REASON] == "first call"
    assert "scale" not in prologue


def test_compiles_are_under_the_users_span(ended: Run) -> None:
    watched = recorded(ended, "user_span_inside_jit.py")
    assert watched.stages(COMPILE)
    for stage in watched.stages(COMPILE):
        assert stage.parent_id not in {"", *(other.span_id for other in watched.run.stages)}


def test_a_failed_span_holds_the_users_stack_and_says_that_no_trace_was_finished(ended: Run) -> None:
    watched = recorded(ended, "traceback_in_finally.py")
    failed = [stage for stage in watched.stages(COMPILE) if stage.error is not None]
    assert failed
    for stage in failed:
        assert "in bar" in stage.error.stacktrace
        assert "thunder_otel" not in stage.error.stacktrace
        assert "no stage finished a trace" in str(stage.attributes[semconv.COMPILE_LAST_STAGE])


def test_an_unprintable_trace_says_why_and_the_others_are_whole(ended: Run) -> None:
    watched = recorded(ended, "unprintable_symbol.py")
    stages = watched.run.stages
    errors = [key for stage in stages for key in stage.attributes if key.endswith(".error") and "trace" in key]
    assert errors
    assert watched.text(watched.stages(semconv.SPAN_CODEGEN + "computation")[0], semconv.TRACE_TEXT)


def test_final_texts_are_the_same_at_every_level(ended: Run) -> None:
    """The program prints a digest of its own final traces: rendering in between must not move a name."""
    outs = {tuple(ended("render_changes_nothing.py", THUNDER_DEBUG=level).out_lines) for level in ("1", "3")}
    assert outs == {tuple(ended("render_changes_nothing.py").out_lines)}


def test_a_torch_compile_region_carries_ops_shapes_lines_and_kernels(ended: Run) -> None:
    watched = recorded(ended, "torchcompile_region.py")
    regions = [
        stage
        for stage in watched.stages(semconv.SPAN_REGION + "TorchCompile0")
        if stage.attributes.get(semconv.REGION_FINAL)
    ]
    assert regions
    region = regions[0].attributes
    assert region[semconv.REGION_OP_COUNT] == len(region[semconv.REGION_OPS]) > 0
    assert all(re.match(r"\w+: \"?cpu f32\[", words) for words in region[semconv.REGION_INPUTS])
    assert any("torchcompile_region.py:" in line for line in region[semconv.REGION_SOURCES])
    kernels = watched.stages(semconv.SPAN_KERNEL_COMPILE + "TorchCompile0")
    assert "extern" in watched.text(kernels[0], semconv.KERNEL_SOURCE)
    reasons = [reason for stage in watched.run.stages for reason in stage.attributes.get(semconv.UNFUSED_REASONS, ())]
    assert any("checker" in reason and "cpu" in reason for reason in reasons)


def test_symbolic_sizes_stay_symbolic(ended: Run) -> None:
    watched = recorded(ended, "symbolic_values.py")
    prologues = [watched.text(stage, semconv.TRACE_PROLOGUE_TEXT) for stage in watched.stages(semconv.SPAN_ACQUIRE)]
    assert any("check_tensor_shape_and_metadata(a, (i0, i1), " in text for text in prologues)
    assert set(attribute(watched.stages(COMPILE), semconv.COMPILE_CACHE)) == {"symbolic values"}


def test_each_rank_has_a_folder_and_the_order_of_communication(ended: Run) -> None:
    watched = recorded(ended, "ddp_two_ranks.py")
    ranks = [run for run in watched.runs if run.rank is not None]
    assert sorted(run.rank for run in ranks) == [0, 1]
    assert all(run.folder.name.endswith(f"-rank{run.rank}") for run in ranks)
    orders = [
        [
            stage.attributes[semconv.TRACE_COLLECTIVES]
            for stage in run.stages
            if semconv.TRACE_COLLECTIVES in stage.attributes
        ]
        for run in ranks
    ]
    assert orders[0] == orders[1] != []
    final = [
        [
            re.sub(r" \(took \d+ \w+\)", "", watched.text_in(run, stage, semconv.TRACE_TEXT))
            for stage in run.stages
            if stage.attributes[semconv.STAGE] == "codegen"
        ]
        for run in ranks
    ]
    assert final[0] == final[1] != []


def test_a_recompile_names_the_guard_with_old_and_new_value(ended: Run) -> None:
    compiles = recorded(ended, "recompile_on_int.py").stages(COMPILE)
    assert len(compiles) == 10
    for position, stage in enumerate(compiles[1:], 1):
        assert len(stage.attributes[semconv.GUARD_ENTRIES]) == position
        assert all("value" in check for check in stage.attributes[semconv.GUARD_FAILED])
        assert str(position) in stage.attributes[semconv.COMPILE_REASON]


def test_a_recompile_for_a_shape_says_so(ended: Run) -> None:
    compiles = recorded(ended, "shape_recompile_module.py").stages(COMPILE)
    assert attribute(compiles, semconv.COMPILE_INDEX) == [0, 1, 2]
    assert [re.findall(r"\((\d), 8\)", str(stage.attributes[semconv.COMPILE_REASON])) for stage in compiles[1:]] == [
        ["2", "3"],
        ["3", "4"],
    ]


def test_modes_recompile_each_with_a_reason(ended: Run) -> None:
    watched = recorded(ended, "modes_recompile.py")
    misses = max(call[2] for call in ast.literal_eval(watched.out_lines[-1].removeprefix("OUT ")) if len(call) == 4)
    compiles = watched.stages(COMPILE)
    assert len(compiles) == misses
    assert all(stage.attributes[semconv.GUARD_MESSAGES] for stage in compiles[1:])


def test_threads_keep_their_own_trees(ended: Run) -> None:
    run = recorded(ended, "threads.py").run
    of = {stage.span_id: stage for stage in run.stages}
    assert len([stage for stage in run.stages if stage.name == COMPILE]) == 4
    for stage in run.stages:
        if stage.parent_id:
            parent = of[stage.parent_id]
            assert parent.thread == stage.thread
            assert parent.attributes[semconv.FN] == stage.attributes[semconv.FN]


def test_transforms_come_in_order_and_the_last_ones_text_is_what_runs(ended: Run) -> None:
    watched = recorded(ended, "transforms_in_order.py")
    for kind in ("computation", "backward"):
        names = [
            stage.name
            for stage in watched.run.stages
            if stage.name.startswith(semconv.SPAN_TRANSFORM) and stage.attributes.get(semconv.KIND) == kind
        ]
        assert len(names) == 3
        (final,) = watched.stages(semconv.SPAN_CODEGEN + kind)
        last = [
            stage for stage in watched.run.stages if stage.name == names[-1] and stage.attributes[semconv.KIND] == kind
        ]
        assert final.attributes[semconv.TRACE_TEXT + semconv.PAYLOAD_SHA256]
        assert last[-1].start_ns <= final.start_ns


def test_a_transform_that_raises_leaves_the_last_good_trace(ended: Run) -> None:
    watched = recorded(ended, "compile_error.py")
    (failed,) = watched.stages(COMPILE)
    assert (failed.error.type, failed.error.message) == ("ValueError", "broken on purpose")
    assert "def computation" in watched.text(failed, semconv.TRACE_LAST_GOOD_TEXT)


def test_the_users_own_error_is_the_spans(ended: Run) -> None:
    (failed,) = recorded(ended, "interpreter_error.py").stages(COMPILE)
    assert failed.error.type == "KeyError"


def test_a_custom_autograd_function_is_printed_in_every_stage(ended: Run) -> None:
    run = recorded(ended, "autograd_function.py").run
    assert not [
        key
        for stage in run.stages
        for key in stage.attributes
        if key.startswith("thunder.trace") and key.endswith(".error")
    ]


def test_a_gpt_has_both_directions_regions_and_kernels(ended: Run) -> None:
    run = recorded(ended, "gpt_train.py").run
    kinds = {stage.attributes.get(semconv.KIND) for stage in run.stages if stage.name.startswith(semconv.SPAN_CODEGEN)}
    assert {"prologue", "computation", "backward", "epilogue"} <= kinds
    assert len([stage for stage in run.stages if stage.name.startswith(semconv.SPAN_PASS)]) >= 12
    final = [stage for stage in run.stages if stage.attributes.get(semconv.REGION_FINAL)]
    assert final and all(stage.attributes[semconv.REGION_OPS] for stage in final)
    assert [stage for stage in run.stages if stage.attributes.get(semconv.KERNEL_COUNT, 0)]


def test_every_process_has_a_folder_of_its_own_and_whole_lines(ended: Run) -> None:
    for program in ("fork_after_compile.py", "same_debug_dir.py"):
        watched = recorded(ended, program)
        folders = [path.parent for path in watched.folder.rglob("events.jsonl")]
        for folder in folders:
            for name in ("events.jsonl", "spans.jsonl"):
                data = (folder / name).read_bytes()
                assert not data or data.endswith(b"\n")
                for line in data.splitlines():
                    json.loads(line)
            pids = {json.loads(line)["pid"] for line in (folder / "events.jsonl").read_bytes().splitlines()}
            assert len(pids) <= 1
    ids = [stage.span_id for run in recorded(ended, "fork_after_compile.py").runs for stage in run.stages]
    assert len(ids) == len(set(ids))
    assert len(recorded(ended, "fork_after_compile.py").runs) > 1


def test_what_a_killed_compile_was_doing_can_be_recovered(ended: Run) -> None:
    watched = recorded(ended, "killed_in_compile.py")
    assert len(watched.runs) >= 3
    for run in watched.runs:
        found = recover(run.folder)
        if found.open_stages:
            assert found.open_stages[0].name == COMPILE
            assert found.open_stages[-1].stage == "acquire"
            assert found.path is not None
    killed = [run for run in watched.runs if recover(run.folder).open_stages]
    assert killed


def test_bytes_that_are_no_text_are_escaped(ended: Run) -> None:
    watched = recorded(ended, "bytes_in_path.sh")
    data = b"".join(path.read_bytes() for path in watched.folder.rglob("*.jsonl"))
    assert b"\\udc80" in data or b"\\\\udc80" in data
    assert all(path.name.isascii() for path in watched.folder.rglob("*"))


def test_a_malformed_variable_costs_one_line_without_its_value(ended: Run) -> None:
    watched = recorded(ended, "bad_otel_environment.sh")
    assert watched.out_lines.count("rc 0") == len([line for line in watched.out_lines if line.startswith("--")])
    assert len(watched.runs) >= 9  # files are written all the same, but where everything is switched off


def test_everything_arrives_at_a_receiver_with_the_default_limit(ended: Run) -> None:
    watched = recorded(ended, "otlp_four_megabytes.py")
    received, largest = map(int, re.findall(r"received (\d+) largest (\d+)", watched.out)[0])
    assert received >= 1 and largest < 4 << 20
    assert "not delivered" not in watched.err


def test_a_program_that_replaces_itself_leaves_all_of_both(ended: Run) -> None:
    runs = recorded(ended, "exec_after_compile.py").runs
    assert len(runs) == 2 and len({run.info["pid"] for run in runs}) == 1
    for run in runs:
        assert all(stage.seconds is not None for stage in run.stages)
        assert len([stage for stage in run.stages if stage.name == COMPILE]) == 1
        spans = (run.folder / "spans.jsonl").read_text().splitlines()
        assert sum(len(json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]) for line in spans) == len(
            run.stages
        )
        payloads = [payload for stage in run.stages for payload in stage.payloads]
        assert payloads and all((run.folder / payload.path).is_file() for payload in payloads if payload.path)


def test_a_dead_collector_costs_one_line(ended: Run) -> None:
    watched = recorded(ended, "dead_collector_exit.py")
    assert all(line.endswith("True fine") for line in watched.out_lines)


def test_stages_that_change_nothing_carry_no_second_copy(ended: Run) -> None:
    run = recorded(ended, "big_attribute_in_ui.py").run
    unchanged = [stage for stage in run.stages if stage.attributes.get(semconv.TRACE_CHANGED) is False]
    texts = [payload.key for stage in unchanged for payload in stage.payloads if payload.key != semconv.LEDGER_TEXT]
    assert unchanged and not texts
    spans = (run.folder / "spans.jsonl").read_bytes().splitlines()
    assert max(map(len, spans)) < 1 << 20


def test_the_indices_of_a_compile_count_its_stages(ended: Run) -> None:
    for stage, following in pairwise(
        sorted(
            (
                stage
                for stage in recorded(ended, "compile_error.py").run.stages
                if semconv.STAGE_INDEX in stage.attributes
            ),
            key=lambda stage: stage.attributes[semconv.STAGE_INDEX],
        )
    ):
        assert following.attributes[semconv.STAGE_INDEX] == stage.attributes[semconv.STAGE_INDEX] + 1
