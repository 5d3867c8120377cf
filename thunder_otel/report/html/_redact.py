"""Names, constants, paths and shapes replaced, the same one by the same word, so that the structure still compares.

What stays: the words of Python, C++ and CUDA, the operations of thunder and torch, dtypes and devices, the names that
thunder and Inductor number themselves (``t12``, ``buf3``), and the numbers 0 and 1. Everything else is replaced, in
texts as in names and attributes: what is not known to be harmless does not get out.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from thunder_otel import semconv
from thunder_otel._targets import SEAMS
from thunder_otel.report._reader import ErrorInfo, Run, Stage

_PATH = r"(?<![\w/])(?:[A-Za-z]:)?/(?:[\w.@+~ -]+/)+[\w.@+~-]+|<ipython-[^>\s]*>"
_CHAIN = r"[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*"
_NUMBER = r"(?<![\w.])\d[\w.]*(?:(?<=[eE])[+-]\d+)?"
_TOKEN = re.compile(f"(?P<path>(?:{_PATH})(?P<line>:\\d+)?)|(?P<chain>{_CHAIN})|(?P<number>{_NUMBER})")
_KEPT_ROOTS = ("prims", "ltorch", "torch", "Tensor", "tl", "triton", "at", "aten", "std", "c10", "libdevice", "dtypes")
_KEPT_CHAIN = re.compile(rf"(?<![\w.:])(?:{'|'.join(_KEPT_ROOTS)})(?:(?:\.|::)[^\W\d]\w*)+")
_FOREIGN = ("torch.ops.", "torch.classes.")  # a program's own operations are registered there
_NUMBERED = re.compile(
    r"(?:[a-zA-Z]|buf|arg|tmp|in_ptr|out_ptr|in_out_ptr|primals|tangents|bw_t|x?numel|[xyrz]\d?(?:numel|index|mask|block|offset)"
    r"|nvFusion|TorchCompile|CUDAGraph|T|i|stream|kernel)_?\d*(?:_\d+)*"
)
_DTYPE = re.compile(r"(?:b|i|u|f|bf|c|int|uint|float|bfloat|complex)(?:8|16|32|64|128)(?:_\w+)?(?:_t)?|bool8?")
# Attributes that hold words of ours, of thunder's or of torch's, never the program's.
_OURS = frozenset(
    [
        semconv.KIND,
        semconv.STAGE_OBSERVED,
        semconv.COMPILE_CACHE,
        semconv.EXECUTOR_VERSION,
        semconv.KERNEL_LANGUAGE,
        semconv.TORCH_COMPILE_ID,
        semconv.TORCH_PHASE,
        semconv.TORCH_ARTIFACT,
        semconv.TORCH_ARTIFACTS,
        semconv.TORCH_CACHE_EVENTS,
        semconv.FX_COMPILER,
        semconv.FX_SUBGRAPH,
        semconv.FX_SUBGRAPHS,
        semconv.LEDGER_SUMMARY,
    ]
)
# Numbers that follow from shapes.
_SIZES = frozenset(
    [
        semconv.KERNEL_GRID,
        semconv.KERNEL_BYTES,
        semconv.KERNEL_SHARED_MEMORY,
        semconv.GRAPH_STATIC_BYTES,
        semconv.GRAPH_COPIED_BYTES,
        semconv.GRAPH_POOL_BYTES,
    ]
)
_TORCHS_SPANS = (
    semconv.SPAN_TORCH_COMPILE,
    semconv.SPAN_TORCH_PHASE,
    semconv.SPAN_TORCH_ARTIFACT,
    semconv.SPAN_FX_SUBGRAPH,
)


@cache
def _words() -> frozenset[str]:
    """Words of the languages, of thunder's own functions and passes, of torch's generated code, and of our reasons."""
    text = files(__package__).joinpath("static").joinpath("kept_words.txt").read_text("utf-8")
    passes = [seam.name for seam in SEAMS]
    return frozenset([*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *text.split(), *passes])


@dataclass
class Redactor:
    """Replaces what must not get out; the same word is always replaced by the same other word.

    Args:
        known: names that stay although no rule lets them, e.g. the operations of thunder and torch that are used.
    """

    known: set[str] = field(default_factory=set)
    _names: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, str] = field(default_factory=dict)

    def learn(self, text: str) -> None:
        """Let the operations of thunder and torch that a text calls by their full names stay everywhere."""
        for chain in _KEPT_CHAIN.findall(text):
            if not chain.startswith(_FOREIGN):
                self.known.update(re.split(r"\.|::", chain))

    def text(self, text: str) -> str:
        """The text with its words replaced; its lines and its punctuation stay."""
        seen = self._seen
        return _TOKEN.sub(lambda found: seen.get(found[0]) or seen.setdefault(found[0], self._replaced(found)), text)

    def _replaced(self, found: re.Match[str]) -> str:
        token = found[0]
        if found["number"]:
            return token if token in ("0", "1") else self._word("num", token)
        if found["path"]:
            line = found["line"] or ""
            path = token.removesuffix(line)
            return "/" + self._word("path", path) + Path(path).suffix + line
        if "." not in token and ":" not in token:
            return self._name(token)
        if _KEPT_CHAIN.fullmatch(token) and not token.startswith(_FOREIGN):
            return token
        return re.sub(r"\w+", lambda part: self._name(part[0]), token)

    def _name(self, name: str) -> str:
        if name in _words() or name in self.known or _NUMBERED.fullmatch(name) or _DTYPE.fullmatch(name):
            return name
        return self._word("name", name)

    def _word(self, start: str, word: str) -> str:
        key = f"{start} {word}"
        return self._names.setdefault(key, f"{start}{len(self._names)}")

    def value(self, key: str, value: Any) -> Any:
        """An attribute's value: its texts replaced, unless they are our own words."""
        if key in _OURS:
            return value
        if isinstance(value, str) or key in _SIZES:
            return self.text(str(value))
        return [self.text(one) if isinstance(one, str) else one for one in value] if isinstance(value, list) else value

    def stage(self, stage: Stage) -> Stage:
        """A stage whose name, attributes and error are replaced."""
        start, space, rest = stage.name.partition(" ")
        known = stage.name.startswith(_TORCHS_SPANS)
        error = stage.error
        return replace(
            stage,
            name=stage.name if known or not space else f"{start} {self.text(rest)}",
            thread=self.text(stage.thread),
            attributes={key: self.value(key, value) for key, value in stage.attributes.items()},
            error=error and ErrorInfo(error.type, self.text(error.message), self.text(error.stacktrace)),
        )

    def run(self, run: Run, number: int) -> Run:
        """A run whose stages are replaced; its host gets a number and its process none."""
        info = {**run.info, "host": f"host{number}" if run.info.get("host") else "", "pid": None}
        return replace(run, info=info, stages=[self.stage(stage) for stage in run.stages])


def redactor_for(texts: Iterable[Path]) -> Redactor:
    """A redactor that knows the operations of all texts (each is read once, one at a time)."""
    redactor = Redactor()
    for file in texts:
        if file.is_file():
            redactor.learn(file.read_text("utf-8", "replace"))
    return redactor
