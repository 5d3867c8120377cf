"""What the ``.pth`` line calls in every Python whose ``THUNDER_DEBUG`` is set: wait for ``import thunder``.

Until then nothing heavy is imported, since most of these processes (compile workers, shells) never use thunder.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from thunder_otel.environment_variables import THUNDER_DEBUG


def start() -> None:
    """Arrange for recording to begin when thunder is imported. Called once, by the ``.pth`` line."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    if os.environ.get(THUNDER_DEBUG, "").strip().lower() in ("4", "torch_compile_debug"):
        os.environ.setdefault("TORCH_COMPILE_DEBUG", "1")  # torch reads it when it is imported


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


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing by itself: it only notices that thunder is asked for and steps aside."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "thunder":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """thunder's own loader, and our start after it."""

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
        activate()
