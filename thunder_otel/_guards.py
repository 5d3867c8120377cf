"""Why a function was compiled again: what each cached entry's prologue says when it refuses the call.

thunder tries every cached prologue and swallows the exception of the ones that do not fit; the exception's text is the
reason. A wrapper around each prologue would see it, and cost every cached call. So nothing stands there: when thunder
compiles, the entries that it just tried are asked once more, with the same arguments. No exception is kept, since its
frames hold the program's tensors.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from thunder_otel import semconv
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue

_TIMES = ("last_prologue_execution_start", "last_prologue_execution_stop")

_made_by: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # prologue trace -> index of its compile


@dataclass(frozen=True, slots=True)
class Refusal:
    """A cached entry that did not fit: the compile that made it, the check that failed, thunder's words."""

    entry: int
    check: str
    message: str


@guarded(None)
def remember(prologue_trace: Any, index: int) -> None:
    """Note which compile made a prologue; entries from before recording are known by their place in the cache."""
    _made_by[prologue_trace] = index


def refusals(stats: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Refusal]:
    """What the cached entries of a function say to a call that none of them fits, newest entry first."""
    times = {name: getattr(stats, name) for name in _TIMES if hasattr(stats, name)}
    found = []
    for position, entry in reversed(list(enumerate(stats.interpreter_cache))):
        try:
            entry.prologue_fn(*args, **kwargs)
        except Exception as error:
            number = _made_by.get(entry.prologue_traces[-1], position)
            found.append(_refusal(number, error))
    for name, value in times.items():  # thunder's own figures stay those of its own calls
        setattr(stats, name, value)
    return found


def _refusal(entry: int, error: Exception) -> Refusal:
    kind, message = type(error).__name__, str(error)
    return Refusal(entry, _line_of(error.__traceback__) or kind, message or f"{kind} (thunder gave no words)")


def _line_of(traceback: TracebackType | None) -> str:
    """The line of the prologue that failed: the checks it calls raise further in."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_name == "prologue":
            return linecache.getline(code.co_filename, traceback.tb_lineno).strip()
        traceback = traceback.tb_next
    return ""


def compile_reason(
    stats: Any, cache: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> dict[str, AttributeValue]:
    """Attributes that say why this compile happens.

    Args:
        stats: thunder's ``CompileStats`` of the function.
        cache: the function's cache option, in words.
        args: the call's arguments.
        kwargs: the call's keyword arguments.
    """
    entries = list(getattr(stats, "interpreter_cache", ()))
    if "no caching" in cache:
        return {semconv.COMPILE_REASON: semconv.REASON_NO_CACHING}
    if not entries:
        first = getattr(stats, "cache_misses", 1) <= 1
        return {semconv.COMPILE_REASON: semconv.REASON_FIRST_CALL if first else semconv.REASON_NONE_FINISHED}
    found = refusals(stats, args, kwargs or {})
    if not found:
        return {semconv.COMPILE_REASON: f"none of {len(entries)} cached entries fit, and none says why"}
    return {
        semconv.COMPILE_REASON: found[0].message,
        semconv.GUARD_ENTRIES: [refusal.entry for refusal in found],
        semconv.GUARD_FAILED: [refusal.check for refusal in found],
        semconv.GUARD_MESSAGES: [refusal.message for refusal in found],
    }
