"""Expected and got, from thunder's words (as thunder 0.2.6 writes them)."""

from __future__ import annotations

import pytest

from thunder_otel.report.html._guards import expected_and_got


@pytest.mark.parametrize(
    ("message", "expected", "got"),
    [
        (
            "expected tensor with (2,), cpu, torch.float32, requires_grad=False, got (3,), cpu, torch.float32, False",
            "tensor with (2,), cpu, torch.float32, requires_grad=False",
            "(3,), cpu, torch.float32, False",
        ),
        ("expected Tensor, got list", "Tensor", "list"),
        ("Expected 4 to be equal to and have the type of 3", "3", "4"),
        ("Expected 'a' to be equal to 'b'", "'b'", "'a'"),
        ("Expected 7 to be None", "None", "7"),
        ("Expected x to be have the type <class 'int'>", "type <class 'int'>", "x"),
        ("Expected x to be an instance of one of (int, str)", "one of (int, str)", "x"),
        ("Expected seq=[1, 2] to be of length 3", "length 3", "[1, 2]"),
        ("Expected seq=[1] to be empty", "empty", "[1]"),
        ("something else failed", "", ""),
        ("", "", ""),
    ],
)
def test_expected_and_got(message: str, expected: str, got: str) -> None:
    assert expected_and_got(message) == (expected, got)
