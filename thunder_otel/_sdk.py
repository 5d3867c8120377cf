"""Loads the OpenTelemetry SDK and the exporters when recording is switched on, also where a variable is malformed.

The SDK reads some variables when it is imported and some when a provider is made, and raises on what it cannot read.
Neither may keep a program from its ``import thunder``. Nothing is left to be imported by a compile: a process that is
forked while another thread imports a module can never import that module itself.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from thunder_otel._guard import guarded, say

if TYPE_CHECKING:
    from thunder_otel.providers import Pipeline
    from thunder_otel.settings import Settings

R = TypeVar("R")
_PROVIDERS = "thunder_otel.providers"


@guarded(None)
def load() -> None:
    """Import what the first compile will use."""
    _tolerantly(lambda: importlib.import_module(_PROVIDERS).load_exporters())


def build_pipeline(settings: Settings) -> Pipeline:
    """What :func:`thunder_otel.providers.build` makes; a variable that the SDK refuses is said and left out.

    Raises:
        Exception: whatever the SDK raises that names no variable.
    """
    pipeline: Pipeline = _tolerantly(lambda: importlib.import_module(_PROVIDERS).build(settings))
    return pipeline


def _tolerantly(call: Callable[[], R]) -> R:
    hidden: dict[str, str] = {}
    try:
        while True:
            try:
                return call()
            except ValueError as error:
                named = re.search(r"OTEL_[A-Z_]+", str(error))
                if named is None or named.group() not in os.environ:
                    raise
                say(f"{error}; it is left out, set it right or unset it")
                hidden[named.group()] = os.environ.pop(named.group())
    finally:
        os.environ.update(hidden)
