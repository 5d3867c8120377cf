"""Telemetry never raises into the program: what fails inside us is said once, on stderr, and the program goes on."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")

_said: set[str] = set()
_lock = threading.Lock()


def say(message: str, *, key: str | None = None) -> None:
    """Write one line to stderr, at most once for each ``key`` (default: the message itself).

    Args:
        message: what went wrong and what to do, without a line break.
        key: what makes two messages the same one.
    """
    key = message if key is None else key
    with _lock:
        if key in _said:
            return
        _said.add(key)
    try:
        line = " ".join(message.splitlines())
        sys.stderr.write(f"thunder_otel: {line}\n")
    except Exception:  # noqa: S110 - a closed stderr leaves nowhere to say it
        pass


def forget_said() -> None:
    """Let every message be said again (for tests and for forked children)."""
    with _lock:
        _said.clear()


def describe(error: BaseException) -> str:
    """``Type: message`` of an exception, also when its ``__str__`` raises."""
    try:
        text = str(error)
    except Exception:
        text = "<message cannot be printed>"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def guarded(default: D) -> Callable[[Callable[P, R]], Callable[P, R | D]]:
    """Make a function of ours safe to call from a compile: an ``Exception`` is said once and ``default`` returned.

    ``KeyboardInterrupt`` and other ``BaseException`` belong to the program and pass.

    Args:
        default: what the caller gets when the function fails.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R | D]:
        name = f"{function.__module__}.{function.__qualname__}"

        @functools.wraps(function)
        def safe(*args: P.args, **kwargs: P.kwargs) -> R | D:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                say(
                    f"{name} failed and is skipped ({describe(error)}); the program is not affected, please report it",
                    key=f"guard:{name}",
                )
                return default

        return safe

    return decorate
