"""Makes the Lightning Thunder compiler visible: every compile stage as an OpenTelemetry span and a structlog event."""

from typing import TYPE_CHECKING

from thunder_otel import _autostart, _lazy

if TYPE_CHECKING:
    from thunder_otel.instrumentor import ThunderInstrumentor as ThunderInstrumentor
    from thunder_otel.instrumentor import instrument as instrument
    from thunder_otel.instrumentor import uninstrument as uninstrument
    from thunder_otel.settings import Level as Level
    from thunder_otel.settings import WrongLevel as WrongLevel

# The command line and every process with THUNDER_DEBUG set import this package: its parts load when they are used.
__all__, __getattr__, __dir__ = _lazy.attach(
    __name__,
    {
        "Level": "settings",
        "ThunderInstrumentor": "instrumentor",
        "WrongLevel": "settings",
        "instrument": "instrumentor",
        "uninstrument": "instrumentor",
    },
)

_autostart.watch_jit_options()
