"""The seams: which of thunder's functions are observed, and what each of them makes.

Looked up by name; a version of thunder that lacks one costs that one's spans only (``thunder-otel doctor`` lists them).
"""

from __future__ import annotations

from dataclasses import dataclass

from thunder_otel import semconv

PACKAGE = "thunder"


@dataclass(frozen=True)
class Seam:
    """A module-level function of thunder.

    Attributes:
        module: where it is defined.
        function: its name.
        role: which wrapper observes it: ``pass``, or a name of its own.
        stage: the stage's name; the function's own by default.
        kinds: what the returned traces are, in order, where that differs from what went in.
        since: the versions that have it, in words, for doctor.
    """

    module: str
    function: str
    role: str = "pass"
    stage: str = ""
    span: str = semconv.SPAN_PASS
    kinds: tuple[str, ...] = ()
    since: str = "0.2.3 and later"

    @property
    def name(self) -> str:
        """The stage's name."""
        return self.stage or self.function.lstrip("_")


_COMMON = "thunder.core.transform_common"
_PASSES = "thunder.executors.passes"

SEAMS: tuple[Seam, ...] = (
    Seam("thunder.core.jit_ext", "thunder_general_jit", role="acquire", stage="acquire"),
    Seam("thunder.core.compile_data", "compile_data_and_stats", role="scope"),
    Seam("thunder.core.trace", "from_trace", role="lineage"),
    Seam(_COMMON, "dce"),
    Seam(_COMMON, "cse"),
    Seam(_COMMON, "wrap_return_value_together_with_arguments"),
    Seam(_COMMON, "remove_context_manager_prims_from_trace"),
    Seam(_COMMON, "unwrap_return_value"),
    Seam("thunder.core.update_aliases", "insert_alias_updates"),
    Seam("thunder.core.rematerialization", "rematerialize"),
    Seam("thunder.core.rematerialization", "replace_uniform"),
    Seam("thunder.core.rematerialization", "rematerialize_all_gather", since="up to 0.2.5"),
    Seam("thunder.core.rematerialization", "rematerialize_forward_and_backward", since="up to 0.2.5"),
    Seam(
        "thunder.transforms.autodiff",
        "grad_transform_on_trace",
        stage="autodiff",
        kinds=("joint",),
        since="0.2.3 and later",
    ),
    Seam(
        "thunder.transforms.autodiff",
        "split_into_forward_and_backward",
        kinds=("computation", "backward"),
        since="0.2.3 and later",
    ),
    Seam(
        "thunder.executors.torch_autograd",
        "split_forward_backward",
        kinds=("computation", "backward"),
        since="up to 0.2.4",
    ),
    Seam("thunder.common", "transform_for_execution", stage="transform_for_execution"),
    Seam("thunder.common", "transform_to_torch_types"),
    Seam(_PASSES, "transform_for_execution", stage="executor_passes"),
    Seam(_PASSES, "_transform_for_operator_executor_execution", stage="claim", span=semconv.SPAN_CLAIM),
    Seam(_PASSES, "update_fusion_call_ctx"),
    Seam(_PASSES, "del_last_used"),
    Seam("thunder.distributed.utils", "maybe_sort_waits"),
    Seam("thunder.distributed.utils", "sort_waits"),
    Seam("thunder.distributed.utils", "sort_communication_ops"),
    Seam("thunder.distributed.utils", "sort_data_parallel_syncs"),
    Seam("thunder.distributed.transforms.ddp", "apply_bucketing_to_grad_allreduce"),
    Seam("thunder.distributed.transforms.ddp", "optimize_allreduce_in_ddp_backward", since="up to 0.2.5"),
    Seam("thunder.dynamo.splitter", "_splitter", role="fx_split"),
    Seam("thunder.executors.transformer_engineex", "_te_activation_checkpointing_transform", since="0.2.6"),
)
"""Functions. Methods of executors and transforms are found on the classes a compile uses."""

TRACE_METHODS = (("set_provenance", "provenance"), ("python_callable", "codegen"))
"""Methods of ``thunder.core.trace.TraceCtx`` and the wrapper that observes each."""

FX_METHODS = (("__call__", "fx_backend"),)
"""Methods of ``thunder.dynamo.compiler.ThunderCompiler``, the backend that ThunderFX gives to ``torch.compile``."""

EXECUTOR_METHODS = (("fusion_pass", "fusion_pass"), ("fuse", "fuse"))
"""Methods of fusion executors (and of transforms that fuse), looked for on each concrete class."""

VERDICT_METHODS = (("can_execute", "asked"), ("can_fuse", "asked_to_fuse"))
"""Methods of all executors that say whether they take an op; observed from level 2 on."""

TRANSFORM_METHODS = (
    ("transform_traces_pre_prologue", "transform"),
    ("transform_trace_post_optimization", "transform"),
    ("fuse", "fuse"),
)
"""Methods of user transforms, looked for on each concrete class."""
