"""What a failed guard expected and what it got, from thunder's own words."""

from __future__ import annotations

import re

_EXPECTED_GOT = re.compile(r"^expected (?P<expected>.*?),? (?:but )?got (?P<got>.*)$", re.IGNORECASE | re.DOTALL)
# thunder names what came first: "Expected 4 to be equal to and have the type of 3" means 3 was expected, 4 came.
_GOT_EXPECTED = re.compile(
    r"^expected (?:seq=)?(?P<got>.*?) to (?:be )?(?P<relation>equal to and have the type of|equal to|have the type"
    r"|an instance of one of|of length|None|empty)\s*(?P<expected>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_LEADING_WORDS = {"have the type": "type ", "an instance of one of": "one of ", "of length": "length "}


def expected_and_got(message: str) -> tuple[str, str]:
    """``(expected, got)`` of a guard's message; both empty when the message has neither of thunder's forms."""
    if found := _GOT_EXPECTED.match(message):
        relation, expected = found["relation"], found["expected"].strip()
        if relation.lower() in ("none", "empty"):
            return relation, found["got"]
        return _LEADING_WORDS.get(relation, "") + expected, found["got"]
    if found := _EXPECTED_GOT.match(message):
        return found["expected"], found["got"]
    return "", ""
