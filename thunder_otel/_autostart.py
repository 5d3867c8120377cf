"""Waits for ``import thunder``: to begin recording when ``THUNDER_DEBUG`` asks for it, and to offer the JIT option.

The ``.pth`` line calls :func:`start` in every Python whose ``THUNDER_DEBUG`` is set. Until thunder is imported nothing
heavy is, since most of these processes (compile workers, shells) never use it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from thunder_otel.environment_variables import THUNDER_DEBUG


def start() -> None:
    """Begin to record when thunder is imported. Called by the ``.pth`` line."""
    if os.environ.get(THUNDER_DEBUG, "").strip().lower() in ("4", "torch_compile_debug"):
        os.environ.setdefault("TORCH_COMPILE_DEBUG", "1")  # torch reads it when it is imported
    when_thunder_is_imported(activate)


def watch_jit_options() -> None:
    """Offer ``thunder.jit(fn, thunder_debug=...)`` when thunder is imported."""
    when_thunder_is_imported(_watch_jit_options)


def activate() -> None:
    """thunder was imported: begin.

    Raises:
        SystemExit: ``THUNDER_DEBUG`` is no level; its message is the one line that Python prints.
    """
    from thunder_otel import instrumentor, settings  # noqa: PLC0415 - heavy, and only wanted now

    try:
        chosen = settings.read_settings()
    except settings.WrongLevel as error:
        raise SystemExit(f"thunder_otel: {error}") from None
    instrumentor.switch_on(chosen)


def _watch_jit_options() -> None:
    from thunder_otel import _jit_option  # noqa: PLC0415 - heavy, and only wanted now

    _jit_option.watch_jit_options()


_callbacks: list[Callable[[], None]] = []


def when_thunder_is_imported(callback: Callable[[], None]) -> None:
    """Call ``callback`` once, right after thunder's import ends, or now if it has ended. Repeated calls count once."""
    if hasattr(sys.modules.get("thunder"), "jit"):
        callback()
        return
    if callback not in _callbacks:
        _callbacks.append(callback)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing by itself: it only notices that thunder is asked for and steps aside."""

    _looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "thunder" or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """thunder's own loader, and our callbacks after it."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = module.__loader__ = self._loader  # thunder sees its own loader
        self._loader.exec_module(module)
        if _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
        while _callbacks:
            _callbacks.pop(0)()


_FINDER = _Finder()
