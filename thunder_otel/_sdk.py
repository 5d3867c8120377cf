"""Loads the OpenTelemetry SDK when it is first needed, also where one of its variables is malformed.

The SDK reads some variables when it is imported and some when a provider is made, and raises on what it cannot read.
Neither may keep a program from its ``import thunder``.
"""

from __future__ import annotations

import importlib
import os
import re
from typing import TYPE_CHECKING

from thunder_otel._guard import say

if TYPE_CHECKING:
    from thunder_otel.providers import Pipeline
    from thunder_otel.settings import Settings


def build_pipeline(settings: Settings) -> Pipeline:
    """What :func:`thunder_otel.providers.build` makes; a variable that the SDK refuses is said and left out.

    Raises:
        Exception: whatever the SDK raises that names no variable.
    """
    hidden: dict[str, str] = {}
    try:
        while True:
            try:
                pipeline: Pipeline = importlib.import_module("thunder_otel.providers").build(settings)
                return pipeline
            except ValueError as error:
                named = re.search(r"OTEL_[A-Z_]+", str(error))
                if named is None or named.group() not in os.environ:
                    raise
                say(f"{error}; it is left out, set it right or unset it")
                hidden[named.group()] = os.environ.pop(named.group())
    finally:
        os.environ.update(hidden)
