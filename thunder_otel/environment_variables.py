"""The variables this project reads; every other ``OTEL_*`` variable is read by the OpenTelemetry SDK itself.

Only :mod:`thunder_otel.settings` reads them. The module is also the ``opentelemetry_environment_variables`` entry
point, which is why each name stands here as a constant of the same name.
"""

THUNDER_DEBUG = "THUNDER_DEBUG"
"""The level: 0, 1/trace, 2/nvfuser_region, 3/nvfuser_code, 4/torch_compile_debug. Unset, empty or 0 is off."""

THUNDER_DEBUG_DIR = "THUNDER_DEBUG_DIR"
"""The folder under which each process makes its run folder. Default: ``./thunder_debug``."""

THUNDER_DEBUG_STAGES = "THUNDER_DEBUG_STAGES"
"""Which stages carry trace text: ``all`` (default), ``final`` (only what runs), or a comma list of stage names."""

THUNDER_DEBUG_RANKS = "THUNDER_DEBUG_RANKS"
"""Which ranks record: ``all`` (default) or a comma list such as ``0,8``."""

THUNDER_DEBUG_INLINE_LIMIT = "THUNDER_DEBUG_INLINE_LIMIT"
"""Longest text in bytes that a span attribute carries whole. Default: 65536, or OTel's own length limit if set."""

THUNDER_DEBUG_OTLP_LIMIT = "THUNDER_DEBUG_OTLP_LIMIT"
"""Largest OTLP request in encoded bytes. Default: 3670016 (3.5 MiB)."""

THUNDER_DEBUG_QUEUE_LIMIT = "THUNDER_DEBUG_QUEUE_LIMIT"
"""Most bytes of telemetry that wait in memory for a collector. Default: 67108864 (64 MiB)."""

THUNDER_DEBUG_EXIT_TIMEOUT = "THUNDER_DEBUG_EXIT_TIMEOUT"
"""Seconds that the program's exit may wait for a collector. Default: 5."""

THUNDER_DEBUG_DISK_LIMIT = "THUNDER_DEBUG_DISK_LIMIT"
"""Most bytes one run folder may hold. Default: 2147483648 (2 GiB)."""

THUNDER_DEBUG_STUCK_SECONDS = "THUNDER_DEBUG_STUCK_SECONDS"
"""Seconds after which an open stage is reported once, with the Python stack. Default: 120; 0 is never."""

THUNDER_DEBUG_REDACT = "THUNDER_DEBUG_REDACT"
"""A regular expression: what it matches is taken out of everything that is recorded. A malformed one takes out every
text."""

THUNDER_DEBUG_CALLS = "THUNDER_DEBUG_CALLS"
"""Share of the calls of jitted functions that become spans, from 0 (default) to 1."""

THUNDER_DEBUG_RECOMPILE_WARNING = "THUNDER_DEBUG_RECOMPILE_WARNING"
"""Recompiles of one function after which a line on stderr says what varied and what helps. Default: 8; 0 is never."""

THUNDER_DEBUG_PROFILE_KERNELS = "THUNDER_DEBUG_PROFILE_KERNELS"
"""1: nvFuser's profiler times the first run of each region (launch shape, registers, bytes). Default: 0, since only one
profiler can use the GPU's counters at a time."""
