"""Every telemetry name of this project: spans, attributes, events, metrics. ``docs/spans.md`` is the same as a table.

OTel's own names are used where they exist: https://opentelemetry.io/docs/specs/semconv/registry/attributes/
"""

SCOPE = "thunder_otel"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.30.0"

# Span names. Those that end in a blank are followed by the name of the pass, executor, region or trace kind.
SPAN_COMPILE = "thunder.compile"
SPAN_ACQUIRE = "thunder.acquire"
SPAN_PASS = "thunder.pass "
SPAN_CLAIM = "thunder.claim"
SPAN_FUSION_PASS = "thunder.fusion_pass "
SPAN_REGION = "thunder.region "
SPAN_TRANSFORM = "thunder.transform "
SPAN_CODEGEN = "thunder.codegen "
SPAN_KERNEL_COMPILE = "thunder.kernel.compile "
SPAN_KERNEL = "thunder.kernel "  # followed by the kernel's name
SPAN_GRAPH_CAPTURE = "thunder.cuda_graph.capture "
SPAN_GRAPH_STATIC_INPUTS = "thunder.cuda_graph.static_inputs"
SPAN_GRAPH_WARMUP = "thunder.cuda_graph.warmup"
SPAN_GRAPH_RECORD = "thunder.cuda_graph.record"
SPAN_TORCH_COMPILE = "torch.compile "  # followed by the id that torch prints, e.g. 0/0
SPAN_TORCH_PHASE = "torch.phase "  # followed by the name of torch's chromium event
SPAN_TORCH_ARTIFACT = "torch.artifact "  # followed by the artefact's name
SPAN_FX_GRAPH = "thunder.fx.graph"
SPAN_FX_SPLIT = "thunder.fx.split"
SPAN_FX_SUBGRAPH = "thunder.fx.subgraph "  # followed by the module's name, e.g. thunder_0, inductor_1

# The stage and the function it belongs to (level 1).
STAGE = "thunder.stage"  # acquire, dce, claim, del_last_used, codegen, ...
STAGE_INDEX = "thunder.stage.index"  # order within the compile, from 0
STAGE_OBSERVED = "thunder.stage.observed"  # call, or provenance for a pass seen only by the trace it made
KIND = "thunder.kind"  # prologue, computation, backward, epilogue, joint, region, other
FN = "thunder.fn"
COMPILE_ID = "thunder.compile.id"  # e.g. GPT.forward/0, the same on every rank
COMPILE_INDEX = "thunder.compile.index"  # 0 for a function's first compile
COMPILE_REASON = "thunder.compile.reason"  # first call, no caching, or the guards that failed
REASON_FIRST_CALL = "first call"
REASON_NO_CACHING = "no caching"
REASON_NONE_FINISHED = "no earlier compile finished"
COMPILE_CACHE = "thunder.compile.cache"  # constant values, symbolic values, same input, no caching
COMPILE_LEVEL = "thunder.debug.level"
COMPILE_EXECUTORS = "thunder.executors"
COMPILE_TRANSFORMS = "thunder.transforms"
COMPILE_LAST_STAGE = "thunder.compile.last_good_stage"
WITHHELD = "thunder.withheld"  # why a hook's veto, or a redacting hook's failure, keeps the stage's texts out
TRANSFORM = "thunder.transform"
EXECUTOR = "thunder.executor"
EXECUTOR_VERSION = "thunder.executor.version"
CODE_FUNCTION = "code.function.name"
CODE_FILE = "code.file.path"
CODE_LINE = "code.line.number"

# One trace of a stage (level 1). A payload attribute KEY comes with KEY.size, KEY.sha256, KEY.path, KEY.truncated.
TRACE_TEXT = "thunder.trace.text"
TRACE_PROLOGUE_TEXT = "thunder.trace.prologue.text"
TRACE_COMPUTATION_TEXT = "thunder.trace.computation.text"
TRACE_BACKWARD_TEXT = "thunder.trace.backward.text"
TRACE_EPILOGUE_TEXT = "thunder.trace.epilogue.text"
TRACE_PROVENANCE = "thunder.trace.provenance"
TRACE_CHANGED = "thunder.trace.changed"  # false: the same program as the stage in TRACE_SAME_AS
TRACE_SAME_AS = "thunder.trace.same_as"  # index of the stage that holds the same program
TRACE_SYMBOLS = "thunder.trace.symbols"  # bound symbols at the top level
TRACE_LINES_ADDED = "thunder.trace.lines.added"
TRACE_LINES_REMOVED = "thunder.trace.lines.removed"
TRACE_ERROR = "thunder.trace.error"  # why the trace could not be printed
TRACE_COLLECTIVES = "thunder.trace.collectives"  # communication and wait symbols in order
TRACE_LAST_GOOD_TEXT = "thunder.trace.last_good.text"
PAYLOAD_SIZE = ".size"
PAYLOAD_SHA256 = ".sha256"
PAYLOAD_PATH = ".path"
PAYLOAD_TRUNCATED = ".truncated"

# Guards (level 1): parallel lists, one element for each cached entry that did not fit.
GUARD_ENTRIES = "thunder.guard.entries"  # index of the compile whose prologue failed
GUARD_FAILED = "thunder.guard.failed"  # the check, as it stands in the prologue
GUARD_MESSAGES = "thunder.guard.messages"  # thunder's own words: expected and got

# Regions (level 2).
REGION = "thunder.region"
REGION_REBUILT = "thunder.region.superseded"  # true: fused again later, this one does not run
REGION_FINAL = "thunder.region.final"  # true: in the trace that runs
REGION_PARENT = "thunder.region.parent"  # enclosing region, e.g. CUDAGraph1
REGION_OPS = "thunder.region.ops"
REGION_OP_COUNT = "thunder.region.op_count"
REGION_INPUTS = "thunder.region.inputs"
REGION_OUTPUTS = "thunder.region.outputs"
REGION_SOURCES = "thunder.region.source_lines"
REGION_REMATERIALIZED = "thunder.region.rematerialized_ops"  # computed here and in an earlier region as well
REGION_DELETED = "thunder.region.deleted_ops"  # fused at first, gone from the trace that runs
REGION_SPLIT_BY = "thunder.region.split_by"  # ops outside, between an earlier region and this one
REGION_TEXT = "thunder.region.text"
REGIONS = "thunder.regions"  # regions of a final trace, outermost first
UNFUSED_OPS = "thunder.fusion.unfused_ops"
UNFUSED_REASONS = "thunder.fusion.unfused_reasons"
FUSED_COUNT = "thunder.fusion.regions"
LEDGER_TEXT = "thunder.ledger.text"  # JSON lines: for each op that runs, who was asked, who took it, why not others
LEDGER_OPS = "thunder.ledger.ops"
LEDGER_SUMMARY = "thunder.ledger.summary"

# Kernels (level 3).
KERNEL_SOURCE = "thunder.kernel.source"
KERNEL_LANGUAGE = "thunder.kernel.language"
KERNEL_INDEX = "thunder.kernel.index"
KERNEL_COUNT = "thunder.kernel.count"
KERNEL_NAMES = "thunder.kernel.names"
KERNEL_CACHED = "thunder.kernel.cached"
KERNEL_DEFINITION = "thunder.kernel.definition"
KERNEL_SCHEDULED_IR = "thunder.kernel.scheduled_ir"
KERNEL_BACKEND_SECONDS = "thunder.kernel.backend_seconds"
KERNEL_FRAME_SECONDS = "thunder.kernel.frame_seconds"  # Dynamo, AOTAutograd and Inductor together
KERNEL_OUTPUT_CODE = "thunder.kernel.output_code"  # Inductor's whole module, kernels included
KERNEL_BINDING = "thunder.kernel.binding"
KERNEL_INPUTS = "thunder.kernel.inputs"  # what the first execution ran on: device, dtype, shape, strides
KERNEL_VARIANT = "thunder.kernel.variant"  # 0, 1, ...: the same region compiled for other inputs
KERNEL_RUNTIME = "thunder.kernel.runtime"  # nvFuser's device functions, which its kernels need before them
KERNEL_REGISTERS = "thunder.kernel.registers"
KERNEL_GRID = "thunder.kernel.grid"
KERNEL_BLOCK = "thunder.kernel.block"
KERNEL_SHARED_MEMORY = "thunder.kernel.shared_memory"
KERNEL_BYTES = "thunder.kernel.bytes"
KERNEL_BANDWIDTH = "thunder.kernel.bandwidth"
KERNEL_DEVICE_SECONDS = "thunder.kernel.device_seconds"

# torch.compile (level 4) and ThunderFX (level 1).
TORCH_COMPILE_ID = "torch.compile.id"  # as torch prints it: [0/0] is 0/0
TORCH_COMPILE_PHASE = "torch.compile.phase"  # forward, or what came later under the same id, e.g. a backward
TORCH_COMPILE_SECONDS = "torch.compile.seconds"
TORCH_COMPILE_DEBUG_DIRS = "torch.compile.debug_dirs"  # folders that TORCH_COMPILE_DEBUG=1 made for this compile
TORCH_CACHE_HIT = "torch.compile.cache.hit"
TORCH_CACHE_EVENTS = "torch.compile.cache.events"  # e.g. fx_graph_cache_hit
TORCH_PHASE = "torch.phase"
TORCH_PHASE_ARGS = "torch.phase."  # followed by the name of the event's argument
TORCH_ARTIFACT = "torch.artifact"
TORCH_ARTIFACT_TEXT = "torch.artifact.text"
TORCH_ARTIFACT_MD5 = "torch.artifact.md5"  # torch's own hash of the text, has_payload in its trace
TORCH_ARTIFACT_CACHED = "torch.artifact.cached"  # true: read back from a cache of torch's, not made by this compile
TORCH_ARTIFACTS = "torch.artifacts"  # names, in order
TORCH_RECORDS = "torch.trace.records"  # every record of the compile, one JSON object a line
GRAPH_BREAK_REASONS = "torch.graph_break.reasons"
GRAPH_BREAK_SOURCES = "torch.graph_break.source_lines"
FX_GRAPH_TEXT = "thunder.fx.graph.text"
FX_NODES = "thunder.fx.nodes"
FX_SUBGRAPH = "thunder.fx.subgraph"
FX_SUBGRAPHS = "thunder.fx.subgraphs"
FX_SUBGRAPH_TEXT = "thunder.fx.subgraph.text"
FX_COMPILER = "thunder.fx.compiler"  # thunder, inductor, or eager
FX_OPS = "thunder.fx.ops"
FX_SOURCES = "thunder.fx.source_lines"
SPLIT_TEXT = "thunder.fx.split.text"
SPLIT_REASONS = "thunder.fx.split.reasons"  # parallel lists, one element for each op that thunder did not take
SPLIT_OPS = "thunder.fx.split.ops"
SPLIT_SOURCES = "thunder.fx.split.source_lines"
SPLIT_EXCEPTIONS = "thunder.fx.split.exceptions"

# CUDA graphs.
GRAPH = "thunder.cuda_graph"
GRAPH_NODES = "thunder.cuda_graph.nodes"
GRAPH_POOL_BYTES = "thunder.cuda_graph.pool_bytes"
GRAPH_STATIC_COUNT = "thunder.cuda_graph.static_inputs.count"
GRAPH_STATIC_BYTES = "thunder.cuda_graph.static_inputs.bytes"
GRAPH_COPIED_COUNT = "thunder.cuda_graph.copied_inputs.count"
GRAPH_COPIED_BYTES = "thunder.cuda_graph.copied_inputs.bytes"
GRAPH_KEY = "thunder.cuda_graph.cache_key"
GRAPH_REASON = "thunder.cuda_graph.reason"
GRAPH_DEVICE_SECONDS = "thunder.cuda_graph.device_seconds"
GRAPH_WARMUP_CALLS = "thunder.cuda_graph.warmup.calls"
GRAPH_FAILED_OP = "thunder.cuda_graph.failed_op"
GRAPH_FAILED_SOURCES = "thunder.cuda_graph.failed_source_lines"

# Errors and recovery.
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
EXCEPTION_STACKTRACE = "exception.stacktrace"
ERROR_TYPE = "error.type"
RECOVERED = "thunder.recovered"

# Resource.
SERVICE_NAME = "service.name"
RANK = "thunder.rank"
LOCAL_RANK = "thunder.local_rank"
WORLD_SIZE = "thunder.world_size"
THUNDER_VERSION = "thunder.version"
TORCH_VERSION = "torch.version"

# Events in events.jsonl.
EVENT_START = "thunder.stage.start"
EVENT_END = "thunder.stage.end"
EVENT_STUCK = "thunder.stage.stuck"

# What a program's own log lines get inside a compile.
LOG_TRACE_ID = "trace_id"
LOG_SPAN_ID = "span_id"
LOG_STAGE = "thunder_stage"

# OTLP log records that carry a text too long for its span.
LOG_PAYLOAD_KEY = "thunder.payload.key"
LOG_PAYLOAD_SHA256 = "thunder.payload.sha256"
LOG_PAYLOAD_SIZE = "thunder.payload.size"
LOG_PAYLOAD_PART = "thunder.payload.part"
LOG_PAYLOAD_PARTS = "thunder.payload.parts"
LOG_PAYLOAD_EVENT = "thunder.payload"  # the log record's event name

# What the OTLP sender notes on a span that it had to cut down to fit into a request.
SPAN_CUT = "thunder.otlp.cut"  # keys of the attributes whose values were cut or left out

# Metrics; labels take a bounded number of values: FN, STAGE, OUTCOME, EXECUTOR, KERNEL_LANGUAGE, LABEL_GUARD.
METRIC_COMPILE_DURATION = "thunder.compile.duration"
METRIC_STAGE_DURATION = "thunder.stage.duration"
METRIC_CACHE_HITS = "thunder.cache.hits"
METRIC_CACHE_MISSES = "thunder.cache.misses"
METRIC_RECOMPILES = "thunder.recompiles"
METRIC_REGIONS = "thunder.regions"
METRIC_KERNELS = "thunder.kernels"
METRIC_KERNEL_DURATION = "thunder.kernel.compile.duration"
METRIC_CAPTURES = "thunder.cuda_graph.captures"
METRIC_CAPTURE_DURATION = "thunder.cuda_graph.capture.duration"
METRIC_REPLAYS = "thunder.cuda_graph.replays"
METRIC_COPIED = "thunder.cuda_graph.copied"
METRIC_POOL_BYTES = "thunder.cuda_graph.pool.size"
METRIC_OVERHEAD = "thunder_otel.overhead"
OUTCOME = "thunder.outcome"  # ok, error
LABEL_GUARD = "thunder.guard.check"  # the name of the failed check, e.g. check_tensor_metadata
LABEL_OTHER = "other"  # what a label says once it has taken its most values

# Sampled calls of jitted functions.
SPAN_CALL = "thunder.call"
SPAN_CALL_PART = "thunder.call."  # followed by prologue, compile, computation, epilogue or backward
CALL_CACHE = "thunder.call.cache"  # hit, miss
CALL_NUMBER = "thunder.call.number"  # thunder's own count of the function's calls
CALL_SAMPLE = "thunder.call.sample"  # share of the calls that is recorded
