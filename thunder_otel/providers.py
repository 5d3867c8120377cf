"""Where spans go: the application's provider as it is, or one of our own that the standard variables configure.

Besides :mod:`thunder_otel.testing` the only module that imports the OpenTelemetry SDK.
"""

from __future__ import annotations

import functools
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points, version
from typing import Any

from opentelemetry import trace as otel
from opentelemetry.context import Context, get_current
from opentelemetry.propagate import extract
from opentelemetry.sdk.environment_variables import OTEL_SDK_DISABLED
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, Tracer

from thunder_otel import _sinks, semconv
from thunder_otel._guard import describe, say
from thunder_otel._model import Sink
from thunder_otel.settings import Settings

TRACES_EXPORTER = "OTEL_TRACES_EXPORTER"
EXPORTER_GROUP = "opentelemetry_traces_exporter"
OWN_GROUP = "thunder_otel_exporter"  # exporters that take stages as well as spans, and our settings
FILES, CONSOLE, OTLP, NONE = "thunder_files", "thunder_console", "otlp", "none"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@dataclass(frozen=True)
class Pipeline:
    """What a recorder sends to: ``exporters`` got built, ``sinks`` are those of them that take stages as well."""

    exporters: tuple[SpanExporter, ...]
    sinks: tuple[Sink, ...]
    provider: otel.TracerProvider

    def tracer(self) -> Tracer:
        """The tracer to use now: an application may have set its provider since the last compile."""
        provider = application_provider() or self.provider
        tracer = provider.get_tracer(semconv.SCOPE, own_version(), schema_url=semconv.SCHEMA_URL)
        if type(getattr(tracer, "id_generator", None)) is RandomIdGenerator:
            tracer.id_generator = _Ids()  # type: ignore[attr-defined]  # of this tracer, not of the provider
        return tracer

    def root_context(self) -> Context:
        """The application's current context; without a span in it, the one that ``TRACEPARENT`` names."""
        context = get_current()
        if otel.get_current_span(context).get_span_context().is_valid:
            return context
        carrier = {key.lower(): os.environ[key] for key in ("TRACEPARENT", "TRACESTATE") if key in os.environ}
        return extract(carrier, context) if carrier else context


class _Ids(RandomIdGenerator):
    """Ids from the system's random source.

    The SDK's own come from Python's global generator: recording would change the random numbers a program draws, and
    torch, which puts that generator's state back while it compiles, would make spans share an id.
    """

    def generate_span_id(self) -> int:
        return secrets.randbits(64) or 1

    def generate_trace_id(self) -> int:
        return secrets.randbits(128) or 1


@functools.cache
def own_version() -> str:
    """The installed version of this project."""
    return version("thunder-otel")


def application_provider() -> otel.TracerProvider | None:
    """The provider that the application set, or ``None``."""
    provider = otel.get_tracer_provider()
    return None if isinstance(provider, ProxyTracerProvider) else provider


def exporter_names(environ: Mapping[str, str]) -> list[str]:
    """The exporters to build; files always, since records must outlive a crash or a lost collector, unless ``none``."""
    raw = environ.get(TRACES_EXPORTER, "")
    names = [name.strip() for name in raw.split(",") if name.strip()]
    if NONE in names:
        return []
    if not names and any(environ.get(variable) for variable in _ENDPOINTS):
        names = [OTLP]
    return [FILES, *(name for name in dict.fromkeys(names) if name != FILES)]


def load_exporters() -> None:
    """Import the modules of the exporters that will be built; what is wrong with one is said when it is built."""
    for name in exporter_names(os.environ):
        for group in (OWN_GROUP, EXPORTER_GROUP):
            point = next(iter(entry_points(group=group, name=name)), None)
            if point is not None:
                getattr(point.load(), "preload", lambda: None)()
                break


def build(settings: Settings) -> Pipeline:
    """Build exporters and a provider of our own; an exporter that is malformed is said, by variable, and left out.

    Raises:
        ValueError: the SDK refuses a variable, which its message names.
    """
    provider = _own_provider(settings)
    names = exporter_names(os.environ)
    if application_provider() is not None:
        names = [name for name in names if name in (FILES, CONSOLE)]  # the application exports spans itself
    offered = {name: sink for name in (FILES, CONSOLE, OTLP) if (sink := _sinks.offered(name)) is not None}
    exporters = [exporter for name in names if name not in offered and (exporter := _load(name, settings)) is not None]
    sinks: list[Sink] = [*offered.values(), *(exporter for exporter in exporters if isinstance(exporter, Sink))]
    if isinstance(provider, TracerProvider):
        for exporter in exporters:
            if not isinstance(exporter, Sink):  # a foreign exporter, e.g. console
                _add_processor(provider, exporter)
    return Pipeline(tuple(exporters), tuple(sinks), provider)


def _own_provider(settings: Settings) -> otel.TracerProvider:
    if os.environ.get(OTEL_SDK_DISABLED, "").strip().lower() == "true":
        return NoOpTracerProvider()
    return TracerProvider(resource=resource(settings), shutdown_on_exit=False)


def _add_processor(provider: TracerProvider, exporter: SpanExporter) -> None:
    try:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    except Exception as error:
        variable = _culprit(error, "OTEL_BSP_", "OTEL_BSP_*")
        say(f"{variable} is malformed ({describe(error)}); set it right or unset it")


def resource(settings: Settings) -> Resource:
    """What describes this process on every span."""
    attributes: dict[str, Any] = {}
    for key, value in (
        (semconv.RANK, settings.rank),
        (semconv.LOCAL_RANK, settings.local_rank),
        (semconv.WORLD_SIZE, settings.world_size),
        (semconv.THUNDER_VERSION, _version_of("lightning-thunder")),
        (semconv.TORCH_VERSION, _version_of("torch")),
    ):
        if value is not None:
            attributes[key] = value
    try:
        found = Resource.create(attributes)
    except Exception as error:
        say(f"OTEL_RESOURCE_ATTRIBUTES is malformed ({type(error).__name__}) and is left out")
        found = Resource(attributes)
    name = str(found.attributes.get(semconv.SERVICE_NAME, ""))
    return found.merge(Resource({semconv.SERVICE_NAME: "thunder"})) if name.startswith("unknown_service") else found


def _version_of(distribution: str) -> str | None:
    try:
        return version(distribution)
    except Exception:
        return None


def _load(name: str, settings: Settings) -> SpanExporter | None:
    ours = next(iter(entry_points(group=OWN_GROUP, name=name)), None)
    if ours is not None:
        return _built(name, lambda: ours.load()(settings=settings))
    found = next(iter(entry_points(group=EXPORTER_GROUP, name=name)), None)
    if found is None:
        known = sorted({point.name for group in (OWN_GROUP, EXPORTER_GROUP) for point in entry_points(group=group)})
        say(f"{TRACES_EXPORTER}={name} names no installed exporter and is left out; known: {', '.join(known)}, none")
        return None
    return _built(name, lambda: found.load()())


def _built(name: str, build_it: Any) -> SpanExporter | None:
    try:
        exporter: SpanExporter = build_it()
        return exporter
    except Exception as error:
        variable = _culprit(error, "OTEL_EXPORTER_", TRACES_EXPORTER)
        say(f"{variable}: exporter {name} could not be made and is left out ({describe(error)})")
        return None


def _culprit(error: Exception, prefix: str, otherwise: str) -> str:
    """The variable to name: one that the message names, else the first malformed-looking one, else ``otherwise``."""
    named = re.search(r"OTEL_[A-Z_]+", str(error))
    if named:
        return named.group()
    return next((key for key in sorted(os.environ) if key.startswith(prefix)), otherwise)
