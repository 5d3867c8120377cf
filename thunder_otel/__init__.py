"""Makes the Lightning Thunder compiler visible: every compile stage as an OpenTelemetry span and a structlog event."""

from typing import TYPE_CHECKING

from thunder_otel import _autostart, _lazy

if TYPE_CHECKING:
    from thunder_otel._calls import trace_calls as trace_calls
    from thunder_otel._capture import Run as Run
    from thunder_otel._capture import capture as capture
    from thunder_otel._log_bridge import StageFilter as StageFilter
    from thunder_otel._log_bridge import add_processor as add_processor
    from thunder_otel._log_bridge import add_stage_ids as add_stage_ids
    from thunder_otel._log_bridge import send_events_as_otel_logs as send_events_as_otel_logs
    from thunder_otel._log_bridge import set_logger as set_logger
    from thunder_otel._span_hooks import Handle as Handle
    from thunder_otel._span_hooks import SpanRecord as SpanRecord
    from thunder_otel._span_hooks import StopCompile as StopCompile
    from thunder_otel._span_hooks import on_span_end as on_span_end
    from thunder_otel._span_hooks import on_span_start as on_span_start
    from thunder_otel._span_hooks import redact as redact
    from thunder_otel._span_hooks import remove_hook as remove_hook
    from thunder_otel._transform import CUDAGraphTransform as CUDAGraphTransform
    from thunder_otel.instrumentor import ThunderInstrumentor as ThunderInstrumentor
    from thunder_otel.instrumentor import instrument as instrument
    from thunder_otel.instrumentor import uninstrument as uninstrument
    from thunder_otel.settings import Level as Level
    from thunder_otel.settings import WrongLevel as WrongLevel
else:
    # The command line and every process with THUNDER_DEBUG set import this package: its parts load when they are used.
    __all__, __getattr__, __dir__ = _lazy.attach(
        __name__,
        {
            "CUDAGraphTransform": "_transform",
            "Handle": "_span_hooks",
            "Level": "settings",
            "Run": "_capture",
            "SpanRecord": "_span_hooks",
            "StageFilter": "_log_bridge",
            "StopCompile": "_span_hooks",
            "ThunderInstrumentor": "instrumentor",
            "WrongLevel": "settings",
            "add_processor": "_log_bridge",
            "add_stage_ids": "_log_bridge",
            "capture": "_capture",
            "instrument": "instrumentor",
            "on_span_end": "_span_hooks",
            "on_span_start": "_span_hooks",
            "redact": "_span_hooks",
            "remove_hook": "_span_hooks",
            "send_events_as_otel_logs": "_log_bridge",
            "set_logger": "_log_bridge",
            "trace_calls": "_calls",
            "uninstrument": "instrumentor",
        },
    )

_autostart.watch_jit_options()
