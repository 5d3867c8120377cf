"""``--redact``: what must not get out is replaced, the same by the same, and the structure stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from report_runs import RunFolder
from test_report import data_of, texts_of, written

from thunder_otel import semconv
from thunder_otel.report.html._redact import Redactor

SECRETS = ("Acme", "acme", "secret", "geheim", "4217", "31.25", "/home/", "projects", "weights.bin", "nodeword")
TRACE = """# Constructed by Dead code elimination (took 3 milliseconds)
import torch
import thunder.core.prims as prims

def computation(acme_input, t_secret_weight):
  # acme_input: "cuda:0 f32[4217, 16]"

  # /home/jo/projects/acme/model.py:12: \t        return F.geheim(acme_input, 31.25)
  t1 = prims.mul(acme_input, t_secret_weight)  # t1: "cuda:0 f32[4217, 16]"
  t2 = prims.add(t1, 31.25)  # t2: "cuda:0 f32[4217, 16]"
  t3 = torch.ops.acme.secret_op(t2, 1)
  x = mul(t3, 'weights.bin')
"""


def secret_run(make_run: Callable[..., RunFolder]) -> RunFolder:
    run = make_run("20260101T000000Z-1", host="nodeword", pid=4217)
    compile_id = run.compile(
        "AcmeNet.forward",
        attributes={semconv.CODE_FILE: "/home/jo/projects/acme/model.py", semconv.CODE_LINE: 12},
        error=("ValueError", "the secret is 31.25 in /home/jo/projects/acme/model.py"),
    )
    run.trace("dce", 1, compile_id, TRACE)
    run.stage(
        semconv.SPAN_REGION + "nvFusion0",
        {
            semconv.REGION: "nvFusion0",
            semconv.REGION_FINAL: True,
            semconv.REGION_INPUTS: ["acme_input: cuda:0 f32[4217, 16]"],
        },
        parent=compile_id,
        texts={semconv.REGION_TEXT: "[t1] = nvFusion0(acme_input)\n"},
    )
    run.stage(semconv.SPAN_TRANSFORM + "AcmeTransform", {semconv.TRANSFORM: "AcmeTransform"}, parent=compile_id)
    run.stage(
        semconv.SPAN_FUSION_PASS + "acme_ex",
        {
            semconv.STAGE: "fusion_pass-acme_ex",
            semconv.EXECUTOR: "acme_ex",
            semconv.TRACE_PROVENANCE: "Constructed by AcmePass",
            semconv.UNFUSED_OPS: ["secret_op -> t3"],
            semconv.UNFUSED_REASONS: ["checker acme_checker refused secret_op: acme_input is f32 on cuda:0"],
        },
        parent=compile_id,
    )
    sizes = {semconv.GRAPH_POOL_BYTES: 4217, semconv.KERNEL_GRID: [4217, 1, 1]}
    run.stage(semconv.SPAN_GRAPH_CAPTURE + "CUDAGraph0", sizes, parent=compile_id)
    run.stage(semconv.SPAN_PASS + "acme_pass", {semconv.STAGE: "acme_pass"}, parent=compile_id)
    return run


def test_no_secret_stays(make_run: Callable[..., RunFolder]) -> None:
    plain, _ = written(secret_run(make_run))
    run = secret_run(lambda *_, **info: make_run("20260101T000100Z-2", **info))
    page, _ = written(run, redact=True)
    everything = page + "".join(texts_of(page).values())
    assert [word for word in SECRETS if word in everything] == []
    assert "20260101T000100Z-2" not in page
    assert data_of(page)["redacted"] is True and data_of(plain)["redacted"] is False


def test_the_same_word_is_replaced_by_the_same(make_run: Callable[..., RunFolder]) -> None:
    page, _ = written(secret_run(make_run), redact=True)
    region, trace = texts_of(page).values()
    assert len(trace.splitlines()) == len(TRACE.splitlines())
    name = region.split("(")[1].split(")")[0]
    assert f"prims.mul({name}, " in trace and f'# {name}: "cuda:0 f32[' in trace
    stage = next(stage for stage in data_of(page)["runs"][0]["stages"] if stage["role"] == "region")
    assert stage["region"]["inputs"][0].startswith(f"{name}: cuda:0 f32[")
    assert stage["region"]["name"] == "nvFusion0"


@pytest.mark.parametrize(
    "text",
    [
        "t12 = prims.add(t3, t4)",
        "def computation(t_0):",
        "import thunder.core.prims as prims",
        "x = torch.nn.functional.gelu(x)",
        "for (int64_t i0 = 0; i0 < 1; ++i0) { tmp3 = in_ptr0[i0]; }",
        "at::vec::Vectorized<float>",
        '"cuda:0 bf16[1, 1]"',
        "return buf7",
    ],
)
def test_what_says_nothing_of_the_program_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_operations_that_are_used_by_their_full_name_stay_everywhere() -> None:
    redactor = Redactor()
    assert redactor.text("slice_prim") != "slice_prim"
    redactor = Redactor()
    redactor.learn("t1 = prims.slice_prim(t0, [0])")
    assert redactor.text("slice_prim") == "slice_prim"


def test_passes_of_thunder_and_records_of_torch_keep_their_names(make_run: Callable[..., RunFolder]) -> None:
    run = make_run()
    compile_id = run.compile()
    names = [semconv.SPAN_PASS + "dce", semconv.SPAN_CODEGEN + "backward", semconv.SPAN_TORCH_PHASE + "backend_compile"]
    for name in names:
        run.stage(name, {semconv.STAGE: name.split(" ")[1]}, parent=compile_id, at=1)
    reason = {semconv.UNFUSED_REASONS: ["claimed by torch before fusion"], semconv.UNFUSED_OPS: ["add -> t3"]}
    run.stage(semconv.SPAN_FUSION_PASS + "nvfuser", reason, parent=compile_id, at=2)
    page, _ = written(run, redact=True)
    stages = data_of(page)["runs"][0]["stages"]
    assert [stage["name"] for stage in stages[1:]] == [*names, semconv.SPAN_FUSION_PASS + "nvfuser"]
    assert stages[-1]["fusion"]["unfused"][0][1] == "claimed by torch before fusion"


def test_structure_still_compares() -> None:
    def redacted(text: str) -> str:
        return Redactor().text(text)

    assert redacted("red = blue * 17\nreturn red") == redacted("wet = dry * 99\nreturn wet")
    assert redacted("red = blue\nreturn red") != redacted("red = blue\nreturn blue")


def test_paths_keep_their_ending_and_line() -> None:
    redactor = Redactor()
    once, twice = redactor.text("/srv/a/model.py:12 /srv/b/model.py:13 /srv/a/model.py:14").split(" ")[::2]
    assert once.endswith(".py:12") and once.removesuffix(":12") == twice.removesuffix(":14")
