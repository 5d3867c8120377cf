"""Why a function was compiled again: what each cached entry's prologue said when it refused the call.

thunder tries every cached prologue and swallows the exception of the ones that do not fit; the exception's text is the
reason. So each prologue gets a plain closure around it that notes the text. It keeps no exception, since its frames
hold the program's tensors.
"""

from __future__ import annotations

import functools
import linecache
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thunder_otel import semconv
from thunder_otel._guard import guarded
from thunder_otel._model import AttributeValue


@dataclass(frozen=True, slots=True)
class Refusal:
    """A cached entry that did not fit: the compile that made it, the check that failed, thunder's words."""

    entry: int
    check: str
    message: str


class _Local(threading.local):
    def __init__(self) -> None:
        self.call: tuple[int, int] = (0, 0)  # (id of the compile stats, its call number)
        self.raw: list[tuple[int, str, str, str, int]] = []


_local = _Local()


def watch_prologue(prologue: Callable[..., Any], stats: weakref.ReferenceType[Any], entry: int) -> Callable[..., Any]:
    """Wrap the prologue of compile ``entry``; a call that fits costs one more Python frame."""

    @functools.wraps(prologue)
    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            return prologue(*args, **kwargs)
        except Exception as error:
            _note(stats, entry, error)
            raise

    del watched.__wrapped__  # one reference to the prologue is enough
    return watched


@guarded(None)
def _note(stats: weakref.ReferenceType[Any], entry: int, error: Exception) -> None:
    owner = stats()
    call = (id(owner), getattr(owner, "calls", 0))
    if call != _local.call:
        _local.call = call
        _local.raw.clear()
    traceback = error.__traceback__
    inner = traceback.tb_next if traceback is not None else None
    file, line = (inner.tb_frame.f_code.co_filename, inner.tb_lineno) if inner is not None else ("", 0)
    _local.raw.append((entry, type(error).__name__, str(error), file, line))


def refusals(stats: Any) -> list[Refusal]:
    """What the entries that were tried in the current call of a jitted function said, newest entry first."""
    if _local.call != (id(stats), getattr(stats, "calls", 0)):
        return []
    return [
        Refusal(entry, linecache.getline(file, line).strip() or kind, message or f"{kind} (thunder gave no words)")
        for entry, kind, message, file, line in _local.raw
    ]


def compile_reason(stats: Any, cache: str) -> dict[str, AttributeValue]:
    """Attributes that say why this compile happens.

    Args:
        stats: thunder's ``CompileStats`` of the function.
        cache: the function's cache option, in words.
    """
    entries = list(getattr(stats, "interpreter_cache", ()))
    if "no caching" in cache:
        return {semconv.COMPILE_REASON: semconv.REASON_NO_CACHING}
    if not entries:
        first = getattr(stats, "cache_misses", 1) <= 1
        return {semconv.COMPILE_REASON: semconv.REASON_FIRST_CALL if first else semconv.REASON_NONE_FINISHED}
    found = refusals(stats)
    if not found:
        return {semconv.COMPILE_REASON: f"none of {len(entries)} cached entries fit (compiled before recording began)"}
    return {
        semconv.COMPILE_REASON: found[0].message,
        semconv.GUARD_ENTRIES: [refusal.entry for refusal in found],
        semconv.GUARD_FAILED: [refusal.check for refusal in found],
        semconv.GUARD_MESSAGES: [refusal.message for refusal in found],
    }
