"""Looks for the seams in the installed thunder and prints what it found as one line of JSON.

``thunder-otel doctor`` runs it in a process of its own, since importing thunder takes seconds and may fail.
"""

from __future__ import annotations

import importlib
import json
from importlib.metadata import version
from typing import Any

from thunder_otel import _targets


def probe() -> dict[str, Any]:
    """What ``doctor`` wants to know of thunder, torch and nvFuser."""
    try:
        importlib.import_module("thunder")
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    found, missing, older = [], [], []
    for seam in _targets.SEAMS:
        name = f"{seam.module}.{seam.function}"
        if _has(seam.module, seam.function):
            found.append(name)
        elif seam.since.startswith("up to"):
            older.append(name)
        else:
            missing.append((name, seam.since))
    trace_class = importlib.import_module("thunder.core.trace").TraceCtx
    for method, _ in _targets.TRACE_METHODS:
        name = f"thunder.core.trace.TraceCtx.{method}"
        found.append(name) if hasattr(trace_class, method) else missing.append((name, "every version so far"))
    return {"found": found, "missing": missing, "older": older, **_gpu()}


def _has(module: str, function: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), function)
    except ImportError:
        return False


def _gpu() -> dict[str, Any]:
    torch = importlib.import_module("torch")
    cuda = torch.cuda.is_available()
    binding = next((name for name in ("nvfuser_direct", "nvfuser") if _can_import(name)), "")
    return {
        "cuda": torch.cuda.get_device_name() if cuda else "",
        "cuda_version": torch.version.cuda or "",
        "nvfuser": _nvfuser_version() if binding else "",
        "nvfuser_binding": binding,
    }


def _can_import(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:
        return False
    return True


def _nvfuser_version() -> str:
    nvfuser = importlib.import_module("thunder.executors.nvfuserex")
    found = getattr(nvfuser, "nvfuser_version", None)
    try:
        return str(found() if callable(found) else version("nvfuser"))
    except Exception:
        return "of unknown version"


if __name__ == "__main__":
    print(json.dumps(probe()))
