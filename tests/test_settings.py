"""What the user asks for, and what a bad value costs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunder_otel import environment_variables as env
from thunder_otel.settings import OTEL_LENGTH_LIMIT, Level, Settings, WrongLevel, parse_level, read_settings


@pytest.mark.parametrize(
    ("value", "level"),
    [
        (None, 0),
        (False, 0),
        ("", 0),
        (" ", 0),
        ("0", 0),
        (0, 0),
        ("1", 1),
        ("trace", 1),
        (" TRACE ", 1),
        (Level.TRACE, 1),
        ("nvfuser_region", 2),
        (2, 2),
        ("NvFuser_Code", 3),
        ("3", 3),
        ("torch_compile_debug", 4),
        (4, 4),
    ],
)
def test_levels_are_numbers_or_names_in_any_case(value: object, level: int) -> None:
    assert parse_level(value) is Level(level)


@pytest.mark.parametrize("value", ["trase", "5", "-1", 5, -1, True, 1.0, [], "on"])
def test_a_wrong_level_names_its_origin_and_the_valid_words_in_one_line(value: object) -> None:
    with pytest.raises(WrongLevel) as caught:
        parse_level(value, origin="thunder.jit(thunder_debug=...)")
    message = str(caught.value)
    assert message.startswith("thunder.jit(thunder_debug=...)=") and "\n" not in message
    assert all(word in message for word in ("1/trace", "2/nvfuser_region", "3/nvfuser_code", "4/torch_compile_debug"))


def test_a_near_miss_is_pointed_out() -> None:
    with pytest.raises(WrongLevel, match="Did you mean trace"):
        parse_level("trase")


@given(st.text(max_size=40))
def test_any_text_is_a_level_or_a_wrong_level(word: str) -> None:
    try:
        assert parse_level(word) in Level
    except WrongLevel as error:
        assert len(str(error).splitlines()) <= 1 + len(repr(word).splitlines())


def test_defaults() -> None:
    assert read_settings({}) == Settings(level_origin=env.THUNDER_DEBUG)


def test_everything_can_be_set() -> None:
    settings = read_settings(
        {
            env.THUNDER_DEBUG: "3",
            env.THUNDER_DEBUG_DIR: "/somewhere",
            env.THUNDER_DEBUG_STAGES: "dce, claim",
            env.THUNDER_DEBUG_RANKS: "0,8",
            env.THUNDER_DEBUG_INLINE_LIMIT: "10",
            env.THUNDER_DEBUG_OTLP_LIMIT: "20000",
            env.THUNDER_DEBUG_QUEUE_LIMIT: "70000",
            env.THUNDER_DEBUG_EXIT_TIMEOUT: "0.5",
            env.THUNDER_DEBUG_DISK_LIMIT: "99",
            env.THUNDER_DEBUG_STUCK_SECONDS: "0",
            "RANK": "8",
            "LOCAL_RANK": "0",
            "WORLD_SIZE": "16",
        }
    )
    assert (settings.level, settings.debug_dir, settings.stages) == (3, Path("/somewhere"), {"dce", "claim"})
    assert (settings.ranks, settings.rank, settings.local_rank, settings.world_size) == ({0, 8}, 8, 0, 16)
    assert (settings.inline_limit, settings.otlp_limit, settings.queue_limit) == (10, 20000, 70000)
    assert (settings.exit_timeout, settings.disk_limit, settings.stuck_seconds) == (0.5, 99, 0)
    assert settings.records_this_rank


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (env.THUNDER_DEBUG_INLINE_LIMIT, "many"),
        (env.THUNDER_DEBUG_INLINE_LIMIT, "0"),
        (env.THUNDER_DEBUG_OTLP_LIMIT, "1"),
        (env.THUNDER_DEBUG_EXIT_TIMEOUT, "soon"),
        (env.THUNDER_DEBUG_EXIT_TIMEOUT, "-1"),
        (env.THUNDER_DEBUG_STUCK_SECONDS, "inf"),
        (env.THUNDER_DEBUG_RANKS, "first"),
        (OTEL_LENGTH_LIMIT, "long"),
    ],
)
def test_a_bad_value_costs_one_line_that_names_it(name: str, value: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert read_settings({name: value}) == Settings(level_origin=env.THUNDER_DEBUG)
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and err.startswith(f"thunder_otel: {name}=")


def test_otels_own_length_limit_counts_unless_ours_is_set() -> None:
    assert read_settings({OTEL_LENGTH_LIMIT: "100"}).inline_limit == 100
    assert read_settings({OTEL_LENGTH_LIMIT: "100", env.THUNDER_DEBUG_INLINE_LIMIT: "7"}).inline_limit == 7


def test_which_stages_carry_text() -> None:
    everything, final, some = (read_settings({env.THUNDER_DEBUG_STAGES: words}) for words in ("all", "final", "dce"))
    assert everything.wants_text("dce", final=False)
    assert final.wants_text("codegen", final=True) and not final.wants_text("dce", final=False)
    assert some.wants_text("dce", final=False) and not some.wants_text("codegen", final=True)


def test_which_ranks_record() -> None:
    assert not Settings(ranks=frozenset({1}), rank=0).records_this_rank
    assert Settings(ranks=frozenset({1}), rank=None).records_this_rank
