"""Nothing of ours raises into the program, and what fails is said once."""

from __future__ import annotations

import sys

import pytest

from thunder_otel import _guard


def test_a_failure_is_said_once_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    @_guard.guarded("default")
    def fails(text: str) -> str:
        raise ValueError(text)

    assert [fails("a\nb"), fails("c")] == ["default", "default"]
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "fails failed and is skipped (ValueError: a b)" in err


def test_what_belongs_to_the_program_passes() -> None:
    @_guard.guarded(None)
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_an_exception_that_cannot_be_printed_is_described() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert _guard.describe(Odd()) == "Odd: <message cannot be printed>"
    assert _guard.describe(ValueError()) == "ValueError"


def test_a_closed_stderr_hurts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    _guard.say("nobody hears this")


def test_messages_with_the_same_key_are_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    _guard.say("first", key="k")
    _guard.say("second", key="k")
    assert capfd.readouterr().err == "thunder_otel: first\n"
