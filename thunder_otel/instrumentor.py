"""Switches recording on and off: installs the wrappers of :mod:`thunder_otel._hooks` on thunder."""

from __future__ import annotations

import atexit
import dataclasses
import os
import sys
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import wrapt
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined, unused-ignore]

from thunder_otel import (
    _compile_state,
    _compiling,
    _cuda_graphs,
    _hooks,
    _introspect,
    _kernels,
    _metrics,
    _nvfuser,
    _patching,
    _runtime,
    _sdk,
    _sinks,
    _targets,
    logs,
)
from thunder_otel._guard import describe, guarded, say
from thunder_otel._span_hooks import Handle, redact
from thunder_otel._telemetry import Recorder
from thunder_otel._watcher import Watcher
from thunder_otel.settings import Level, Settings, read_settings

if TYPE_CHECKING:
    from thunder_otel.providers import Pipeline

_installed = False
_lending = threading.RLock()
_watched_imports: set[str] = set()
_pipeline: Pipeline | None = None
_redaction: Handle | None = None
_watcher: Watcher | None = None


def instrument(level: Level | int | str | None = None) -> None:
    """Record every compile from now on.

    Args:
        level: what to record (see :class:`Level`); default: ``THUNDER_DEBUG``, else ``trace``.

    Raises:
        WrongLevel: ``level`` or ``THUNDER_DEBUG`` is no level.
    """
    settings = read_settings(level=level)
    if level is None and settings.level is Level.OFF and os.environ.get("THUNDER_DEBUG", "").strip() != "0":
        settings = read_settings(level=Level.TRACE, level_origin="default of instrument()")
    switch_on(settings)


def uninstrument() -> None:
    """Record nothing from now on and put thunder's own functions back; a compile that runs is recorded to its end."""
    global _installed, _pipeline, _redaction
    recorder = _runtime.switch_off()
    if not _runtime.is_on():
        _kernels.stop()
        if _installed:
            _installed = False
            for name in _patching.unpatch_all(package=_targets.PACKAGE):
                say(f"{name} was wrapped by another tool after us and is left as it is; our part of it does nothing")
    _metrics.stop()
    if recorder is not None:
        _close(recorder, _pipeline)
    if _redaction is not None:
        _redaction.remove()
    _pipeline = _redaction = None


def switch_on(settings: Settings, make_recorder: Callable[[], Recorder | None] | None = None) -> None:
    """Install the wrappers and record with these settings.

    Args:
        settings: level and limits; nothing is installed when the level is off or this rank is not picked.
        make_recorder: makes the recorder at the first compile (default: exporters from the standard variables).
    """
    if settings.level is Level.OFF or not settings.records_this_rank:
        return
    if make_recorder is None:
        _sdk.load()
    _runtime.switch_on(make_recorder or (lambda: build_recorder(settings)), settings.level)
    install(settings.level)


def lend(make_recorder: Callable[[], Recorder], level: Level) -> Callable[[], None]:
    """Record at least at ``level`` until the returned function is called; then all is as it was.

    Args:
        make_recorder: gives the recorder to use while nothing else is switched on; always the same one.
        level: what to record.
    """
    with _lending:
        give_back = _runtime.lend(make_recorder, level)
        install(level)

    def end() -> None:
        with _lending:
            give_back()
            if not _runtime.is_on():
                uninstrument()
            elif _runtime.highest_level() < Level.NVFUSER_CODE:
                _kernels.stop()

    return end


def install(level: Level) -> None:
    """Put the wrappers in place, now or as soon as thunder is imported; no stage is recorded by that alone."""
    global _installed
    _installed = True
    for module in sorted({seam.module for seam in _targets.SEAMS} | {"thunder.core.trace", "thunder.dynamo.compiler"}):
        if module in sys.modules:
            _patch_module(module)
        elif module not in _watched_imports:
            _watched_imports.add(module)
            wrapt.register_post_import_hook(lambda loaded: _patch_module(loaded.__name__), module)
    _cuda_graphs.start()
    if level >= Level.NVFUSER_CODE:
        _kernels.start()
        _nvfuser.start()


def build_recorder(settings: Settings) -> Recorder | None:
    """The recorder that the environment asks for; ``None`` when this process's rank is not picked."""
    global _pipeline, _watcher, _redaction
    settings = _with_rank(settings)
    if not settings.records_this_rank:
        return None
    _pipeline = _sdk.build_pipeline(settings)
    _metrics.start()
    if settings.redact is not None and _redaction is None:
        _redaction = redact(settings.redact)
    recorder = Recorder(settings, tracer=_pipeline.tracer, sinks=_pipeline.sinks, root_context=_pipeline.root_context)
    _watcher = Watcher(
        lambda: [stage for stage in recorder.open_stages.values() if stage.end_ns is None],
        lambda: [getattr(sink, "heartbeat", lambda: None)() for sink in recorder.sinks],
        stuck_seconds=settings.stuck_seconds,
    )
    recorder.on_open = _watcher.wake
    return recorder


def _with_rank(settings: Settings) -> Settings:
    """The rank of a process group that the program made itself, where no launcher set the variables."""
    found = _introspect.distributed_rank() if settings.rank is None else None
    return settings if found is None else dataclasses.replace(settings, rank=found[0], world_size=found[1])


@guarded(None)
def _patch_module(module: str) -> None:
    if not _installed:
        return
    for seam in _targets.SEAMS:
        if seam.module == module:
            _patching.patch_function(module, seam.function, _hooks.factory_for(seam), package=_targets.PACKAGE)
    if module == "thunder.core.trace":
        trace_class = sys.modules[module].TraceCtx
        for name, role in _targets.TRACE_METHODS:
            _patching.patch_method(trace_class, name, _hooks.METHOD_WRAPPERS[role])
    if module == "thunder.dynamo.compiler":
        for name, role in _targets.FX_METHODS:
            _patching.patch_method(sys.modules[module].ThunderCompiler, name, _hooks.METHOD_WRAPPERS[role])


def _close(recorder: Recorder, pipeline: Pipeline | None) -> None:
    """Give every sink its end, and foreign exporters no more time than the exit may take."""
    if _watcher is not None:
        _watcher.stop()
    for sink in recorder.sinks:
        guarded(None)(sink.close)()
    shutdown = getattr(pipeline.provider if pipeline is not None else None, "shutdown", None)
    if shutdown is not None:
        worker = threading.Thread(target=guarded(None)(shutdown), name="thunder_otel-shutdown", daemon=True)
        try:
            worker.start()
            worker.join(recorder.settings.exit_timeout)
        except RuntimeError as error:  # the interpreter no longer starts threads
            say(f"the exporters could not be shut down ({describe(error)})")


def _before_exit() -> None:
    """The program's main thread has ended: send what waits while the program's own servers and threads still live."""
    recorder = _runtime.recorder_in_use()
    for sink in recorder.sinks if recorder is not None else ():
        guarded(None)(getattr(sink, "before_exit", lambda: None))()


# Private in threading, but what concurrent.futures uses, too; without it all is sent in the ordinary exit handler.
getattr(threading, "_register_atexit", lambda function: None)(_before_exit)


@atexit.register
def _at_exit() -> None:
    recorder = _runtime.switch_off()
    if recorder is not None:
        _close(recorder, _pipeline)


def _in_child() -> None:
    """A forked child records to files of its own and leaves its parent's alone."""
    global _lending, _watcher
    _lending, _watcher = threading.RLock(), None
    _runtime.restart()
    _compile_state.local.states.clear()
    _compiling.forget_open_compiles()
    logs.forget_writers()
    _sinks.forget()


os.register_at_fork(after_in_child=_in_child)


class ThunderInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """What ``opentelemetry-instrument`` loads."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """The versions of thunder whose seams are known."""
        return ("lightning-thunder >= 0.2.3",)

    def _instrument(self, **kwargs: Any) -> None:
        instrument(kwargs.get("level"))

    def _uninstrument(self, **kwargs: Any) -> None:
        uninstrument()
