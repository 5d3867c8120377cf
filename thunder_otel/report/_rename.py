"""Trace texts without the numbers of their names, so that a counter that started elsewhere is no change."""

from __future__ import annotations

import re

_DEFINED = (
    re.compile(r"^\s*(?:# )?([^=()\"#]*?[\w\])]) = ", re.MULTILINE),  # t1 = ..., [t1, t2] = ...
    re.compile(r"^\s*(?:# )?\(([\w, ]+),?\) = ", re.MULTILINE),
    re.compile(r"^def \w+\((.*?)\):", re.MULTILINE),
    re.compile(r"^\s*# (\w+): \"", re.MULTILINE),  # an argument that a comment introduces
)
_WORD = re.compile(r"\b([A-Za-z_]+?)(\d+)\b")
_REGION = re.compile(r"\b(nvFusion|TorchCompile|CUDAGraph)\d+\b")


def renamed(text: str) -> str:
    """The text with each numbered name that it defines counted anew, in the order in which the names come up.

    ``t12 = prims.add(t7, 1)`` and ``t3 = prims.add(t2, 1)`` become the same; types and shapes stay as they are.
    """
    defined = {
        word for pattern in _DEFINED for names in pattern.findall(text) for word in re.findall(r"[A-Za-z_]\w*", names)
    }
    defined.update(match.group() for match in _REGION.finditer(text))
    seen: dict[str, str] = {}
    counts: dict[str, int] = {}

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        if word not in defined:
            return word
        if word not in seen:
            prefix = match[1]
            seen[word] = f"{prefix}{counts.get(prefix, 0)}"
            counts[prefix] = counts.get(prefix, 0) + 1
        return seen[word]

    return _WORD.sub(replace, _without_times(text))


def _without_times(text: str) -> str:
    """Without what no two runs share: how long a pass took, and where thunder's generated files are numbered."""
    return re.sub(r" \(took \d+ (?:milli|micro)?seconds\)", "", text)
