"""Settings from any environment: a wrong value is said, never raised, and the program records with its default."""

from __future__ import annotations

from dataclasses import fields
from math import isfinite

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from thunder_otel import _guard
from thunder_otel import environment_variables as env
from thunder_otel.settings import OTEL_LENGTH_LIMIT, Level, Settings, WrongLevel, parse_level, read_settings

NAMES = sorted(value for key, value in vars(env).items() if key.isupper())
ODD = [
    "",
    " ",
    "0",
    "-1",
    "1",
    "1.5",
    "nan",
    "inf",
    "1e400",
    "9" * 30,
    "all",
    "final",
    "0,1",
    "0,x",
    ",",
    "٣",
    "²",
    "\n",
]
VALUES = st.one_of(st.text(max_size=12), st.sampled_from(ODD), st.integers().map(str), st.floats().map(str))
ENVIRONMENTS = st.dictionaries(
    st.sampled_from([*NAMES, OTEL_LENGTH_LIMIT, "RANK", "LOCAL_RANK", "WORLD_SIZE"]), VALUES, max_size=8
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ENVIRONMENTS)
@example({"RANK": "²"})
@example({"THUNDER_DEBUG_RANKS": "²"})
@example({"THUNDER_DEBUG_CALLS": "nan"})
def test_any_environment_gives_settings_that_can_be_used(
    capfd: pytest.CaptureFixture[str], environ: dict[str, str]
) -> None:
    _guard.forget_said()
    try:
        read = read_settings(environ)
    except WrongLevel as error:
        assert env.THUNDER_DEBUG in environ and "\n" not in str(error)
        return
    default = Settings()
    for limit in ("inline_limit", "otlp_limit", "queue_limit", "disk_limit"):
        assert getattr(read, limit) >= 1
    for seconds in ("exit_timeout", "stuck_seconds"):
        assert isfinite(getattr(read, seconds)) and getattr(read, seconds) >= 0
    assert 0 <= read.calls <= 1
    assert read.level in Level
    assert {type(getattr(read, field.name)) for field in fields(read) if field.name == "debug_dir"} == {
        type(default.debug_dir)
    }
    said = capfd.readouterr().err
    assert all(line.startswith("thunder_otel: ") for line in said.splitlines())


@given(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(), st.lists(st.none())
    )
)
def test_any_value_is_a_level_or_is_refused_in_one_line(value: object) -> None:
    try:
        assert parse_level(value, origin="here") in Level
    except WrongLevel as error:
        assert str(error).startswith("here=") and len(str(error).splitlines()) == 1
