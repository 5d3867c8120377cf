"""``thunder.jit(fn, thunder_debug=...)`` and ``DebugOptions(thunder_debug=...)``, once this project is imported.

``thunder.jit`` stays thunder's own object: it hands every option to ``CompileData``, whose constructor is watched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt

from thunder_otel import _patching, _runtime, _sdk, instrumentor
from thunder_otel.settings import Level, parse_level, read_settings

OPTION = "thunder_debug"


def watch_jit_options() -> None:
    """Register the option with thunder, now or as soon as thunder is imported."""
    for module, hook in (("thunder.core.options", _register_debug_option), ("thunder.common", _watch_compile_data)):
        if module in sys.modules:
            hook(sys.modules[module])
        else:
            wrapt.register_post_import_hook(hook, module)


def _register_debug_option(module: ModuleType) -> None:
    options = module.DebugOptions
    if not hasattr(options, OPTION):
        options.register_option(
            OPTION, str | int, "", doc="Record this function's compiles at this level (thunder_otel)."
        )


def _watch_compile_data(module: ModuleType) -> None:
    if hasattr(module, "CompileData"):
        _patching.watch_constructor(module.CompileData, _constructed)


def _constructed(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
    asked = (kwargs.get("compile_options") or {}).get(OPTION)
    origin = f"thunder.jit({OPTION}=...)"
    if asked is None:
        asked = getattr(kwargs.get("debug_options"), OPTION, None) or None
        origin = f"DebugOptions({OPTION}=...)"
    level = parse_level(asked, origin=origin) if asked is not None else None
    result = wrapped(*args, **kwargs)
    if level is not None:
        _choose(instance, level)
    return result


def _choose(compile_data: Any, level: Level) -> None:
    _runtime.choose_level(compile_data, level)
    if level is Level.OFF:
        return
    if not _runtime.is_switched_on():
        settings = read_settings(level=Level.OFF)
        if not settings.records_this_rank:
            return
        _sdk.load()
        _runtime.switch_on(lambda: instrumentor.build_recorder(settings), Level.OFF)
    instrumentor.install(level)
