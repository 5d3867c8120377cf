"""What the user asked for: reads our environment variables, once, when recording starts."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from thunder_otel import environment_variables as env
from thunder_otel._guard import say

OTEL_LENGTH_LIMIT = "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"


class Level(IntEnum):
    """How much is recorded; each level holds what the ones below it hold."""

    OFF = 0
    TRACE = 1
    NVFUSER_REGION = 2
    NVFUSER_CODE = 3
    TORCH_COMPILE_DEBUG = 4


class WrongLevel(ValueError):
    """A value that names no level. The message is one line that names where it came from and the valid words."""


def parse_level(value: object, *, origin: str = env.THUNDER_DEBUG) -> Level:
    """The level that ``value`` names.

    Args:
        value: a :class:`Level`, a number from 0 to 4, or a name in any case; ``None``, ``""`` and ``False`` are off.
        origin: the variable or argument to name in the error.

    Raises:
        WrongLevel: ``value`` is no level.

    >>> parse_level("TRACE"), parse_level(3), parse_level("")
    (<Level.TRACE: 1>, <Level.NVFUSER_CODE: 3>, <Level.OFF: 0>)
    """
    if value is None or value is False:
        return Level.OFF
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 4:
        return Level(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if not word:
            return Level.OFF
        if word in {"0", "1", "2", "3", "4"}:
            return Level(int(word))
        names = {level.name.lower(): level for level in Level if level}
        if word in names:
            return names[word]
        close = difflib.get_close_matches(word, names, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
    else:
        hint = ""
    valid = ", ".join(f"{level.value}/{level.name.lower()}" for level in Level if level)
    raise WrongLevel(f"{origin}={value!r} is not a level.{hint} Valid: 0 or empty (off), {valid}.")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One run's settings. Sizes are in bytes, times in seconds."""

    level: Level = Level.OFF
    level_origin: str = "default"
    debug_dir: Path = field(default_factory=lambda: Path("thunder_debug"))
    stages: frozenset[str] | None = None  # None: all; {"final"}: only what runs
    ranks: frozenset[int] | None = None  # None: all
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    inline_limit: int = 64 * 1024
    otlp_limit: int = 3_670_016
    queue_limit: int = 64 * 1024 * 1024
    exit_timeout: float = 5.0
    disk_limit: int = 2 * 1024**3
    stuck_seconds: float = 120.0
    recompile_warning: int = 8
    calls: float = 0.0  # share of calls that become spans
    profile_kernels: bool = False  # time the first run of each nvFuser region
    redact: re.Pattern[str] | None = None  # what is taken out of all that is recorded

    @property
    def records_this_rank(self) -> bool:
        """Whether THUNDER_DEBUG_RANKS picks this process."""
        return self.ranks is None or self.rank is None or self.rank in self.ranks

    def wants_text(self, stage: str, *, final: bool) -> bool:
        """Whether THUNDER_DEBUG_STAGES picks the trace text of ``stage``; ``final``: the stage makes what runs."""
        return self.stages is None or stage in self.stages or (final and "final" in self.stages)


def read_settings(
    environ: Mapping[str, str] | None = None, *, level: object = None, level_origin: str = "instrument(level=...)"
) -> Settings:
    """Read the variables.

    Args:
        environ: the environment (default: the process's own).
        level: overrides THUNDER_DEBUG when not ``None``.
        level_origin: what to call that override in messages.

    Raises:
        WrongLevel: the level is none. Any other bad value is said once on stderr and its default used.
    """
    environ = os.environ if environ is None else environ
    if level is None:
        level, level_origin = environ.get(env.THUNDER_DEBUG), env.THUNDER_DEBUG
    default = Settings()
    inline = default.inline_limit
    if environ.get(OTEL_LENGTH_LIMIT):
        inline = _number(environ, OTEL_LENGTH_LIMIT, inline, minimum=1)
    return Settings(
        level=parse_level(level, origin=level_origin),
        level_origin=level_origin,
        debug_dir=Path(environ.get(env.THUNDER_DEBUG_DIR) or "thunder_debug"),
        stages=_stages(environ),
        ranks=_ranks(environ),
        rank=_optional_int(environ, "RANK"),
        local_rank=_optional_int(environ, "LOCAL_RANK"),
        world_size=_optional_int(environ, "WORLD_SIZE"),
        inline_limit=_number(environ, env.THUNDER_DEBUG_INLINE_LIMIT, inline, minimum=1),
        otlp_limit=_number(environ, env.THUNDER_DEBUG_OTLP_LIMIT, default.otlp_limit, minimum=16 * 1024),
        queue_limit=_number(environ, env.THUNDER_DEBUG_QUEUE_LIMIT, default.queue_limit, minimum=64 * 1024),
        exit_timeout=_seconds(environ, env.THUNDER_DEBUG_EXIT_TIMEOUT, default.exit_timeout),
        disk_limit=_number(environ, env.THUNDER_DEBUG_DISK_LIMIT, default.disk_limit, minimum=1),
        stuck_seconds=_seconds(environ, env.THUNDER_DEBUG_STUCK_SECONDS, default.stuck_seconds),
        recompile_warning=_number(environ, env.THUNDER_DEBUG_RECOMPILE_WARNING, default.recompile_warning, minimum=0),
        calls=_share(environ, env.THUNDER_DEBUG_CALLS),
        profile_kernels=_switch(environ, env.THUNDER_DEBUG_PROFILE_KERNELS),
        redact=_pattern(environ, env.THUNDER_DEBUG_REDACT),
    )


def _switch(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "").strip().lower()
    if value not in ("", "0", "1", "false", "true"):
        say(f"{name}={value!r} is neither 0 nor 1; it stays off")
    return value in ("1", "true")


def _number(environ: Mapping[str, str], name: str, default: int, *, minimum: int) -> int:
    raw = environ.get(name, "").strip()
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        value = minimum - 1
    if value < minimum:
        say(f"{name}={raw!r} is not a whole number of at least {minimum}; using {default}")
        return default
    return value


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    raw = environ.get(name, "").strip()
    if not raw:
        return default
    try:
        value = float(raw)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        say(f"{name}={raw!r} is not a number of seconds; using {default:g}")
        return default
    return value


def _share(environ: Mapping[str, str], name: str) -> float:
    raw = environ.get(name, "").strip()
    try:
        value = float(raw or 0)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        say(f"{name}={raw!r} is not a number from 0 to 1; using 0")
        return 0.0
    return value


def _pattern(environ: Mapping[str, str], name: str) -> re.Pattern[str] | None:
    raw = environ.get(name, "")
    try:
        return re.compile(raw) if raw else None
    except (re.error, OverflowError, RecursionError) as error:
        say(f"{name} is no regular expression ({error}); every text is taken out")
        return re.compile(r"(?s).+")


def _optional_int(environ: Mapping[str, str], name: str) -> int | None:
    raw = environ.get(name, "").strip()
    return int(raw) if raw.isdecimal() else None


def _stages(environ: Mapping[str, str]) -> frozenset[str] | None:
    words = {word.strip() for word in environ.get(env.THUNDER_DEBUG_STAGES, "").split(",")} - {""}
    return None if not words or "all" in words else frozenset(words)


def _ranks(environ: Mapping[str, str]) -> frozenset[int] | None:
    raw = environ.get(env.THUNDER_DEBUG_RANKS, "").strip()
    if raw in ("", "all"):
        return None
    words = [word.strip() for word in raw.split(",")]
    if not all(word.isdecimal() for word in words):
        say(f"{env.THUNDER_DEBUG_RANKS}={raw!r} is neither 'all' nor a comma list of ranks; recording every rank")
        return None
    return frozenset(int(word) for word in words)
