"""Makes the Lightning Thunder compiler visible: every compile stage as an OpenTelemetry span and a structlog event."""

from thunder_otel._jit_option import watch_jit_options as _watch_jit_options
from thunder_otel.instrumentor import ThunderInstrumentor, instrument, uninstrument
from thunder_otel.settings import Level, WrongLevel

__all__ = ["Level", "ThunderInstrumentor", "WrongLevel", "instrument", "uninstrument"]

_watch_jit_options()
