"""The ledger of verdicts: for each op that runs, which executors were asked, who took it, and why others did not.

thunder asks its executors while it claims, each op in turn and the executors in their order. Questions and answers are
written down then, so that no checker runs once more; they are found again by the names of what an op makes, which
thunder keeps through its passes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from thunder_otel import _introspect, _verdicts
from thunder_otel._verdicts import Reason

FUSED = "fused"
MADE = "made by an execution transform"
ADDED = "added after claiming"
PYTHON = "Python runs it, no executor is asked"
NO_FUSION = "no fusion executor was asked"


@dataclass(slots=True)
class Question:
    """An op that executors were asked for, in the order they were; ``why`` is ``None`` for the one who took it."""

    op: str
    inside: Question | None
    answers: list[tuple[str, Reason | None]] = field(default_factory=list)

    @property
    def taker(self) -> str:
        """Who took it, or ``""``."""
        return next((name for name, why in self.answers if why is None), "")

    def add(self, executor: str, why: Reason | None) -> None:
        """Write down an answer. thunder may claim twice; then the first time, asked of the same executors, is void."""
        outer = self.inside
        if not self.answers and outer is not None and outer.op == self.op and outer.answers[:1]:
            self.inside = outer.inside if outer.answers[0][0] == executor else outer
        self.answers.append((executor, why))

    def lineage(self) -> Iterator[Question]:
        """This op, then the composite ops around it that nobody took whole."""
        question: Question | None = self
        while question is not None:
            yield question
            question = question.inside


class Ledger:
    """The questions of one compile; keeps text, and an op only while thunder asks about it."""

    def __init__(self, executors: Any) -> None:
        self.depth = 0
        self._fusers = [str(executor.name) for executor in executors if _verdicts.fuses(executor)]
        self._questions: dict[str, Question] = {}
        self._parents: dict[str, Question] = {}
        self._left: dict[tuple[str, str], Reason] = {}
        self._asked: Any = None
        self._question: Question | None = None
        self._again = False
        self._start = 0  # how many ops the new trace held when this one was asked about
        self._refused: Any = None

    def hear(self, executor: Any, bsym: Any, answer: bool, *, inner: bool) -> None:
        """An executor answered. Inside another question only the last refusal counts: it is what decided."""
        if inner:
            self._refused = self._refused if answer else bsym
            return
        refused, self._refused = self._refused, None
        if bsym is not self._asked:
            trace = _introspect.trace_being_made()
            self.settle(trace)
            self._asked, self._question, self._start = bsym, self._ask(bsym), _introspect.symbol_count(trace)
        if self._question is None or self._again:
            return
        if answer:
            self._question.add(str(executor.name), None)
        elif _introspect.is_named_by_user(executor):
            decided_below = refused is not None and refused is not bsym
            why = _verdicts.inner_refusal(executor, refused) if decided_below else _verdicts.refusal(executor, bsym)
            self._question.add(str(executor.name), why)

    def _ask(self, bsym: Any) -> Question | None:
        """The question about an op. What was claimed is asked about again when the fusion passes are done: no news."""
        key = _verdicts.key_of(bsym)
        self._again = bsym.sym.executor is not None and key in self._questions
        if self._again:
            return self._questions[key]
        if _introspect.is_region(bsym):
            return None
        inside = self._parents.pop(key, None) or self._questions.get(key)
        self._questions[key] = question = Question(_introspect.op_name(bsym), inside)
        return question

    def settle(self, trace: Any) -> None:
        """What was asked about last is done with: ``trace`` now holds what it became, under names of their own.

        If nobody took it, thunder asks about the ops under it next.
        """
        bsym, question = self._asked, self._question
        self._asked = self._question = None
        if question is None:
            return
        if question.taker:
            made = trace.bound_symbols[self._start :]
            self._questions.update((_verdicts.key_of(one), question) for one in made if one.sym.python_impl is None)
        else:
            self._parents.update((_verdicts.key_of(sub), question) for sub in bsym.subsymbols)

    def why_left_out(self, executor: Any, bsym: Any) -> Reason:
        """Why ``executor``'s fusion pass left an op alone."""
        name, key = str(executor.name), _verdicts.key_of(bsym)
        question = self._questions.get(key)
        if question is None:
            return _verdicts.why_not(executor, bsym)
        reason = self._answer(question, name)
        if reason is None:
            reason = self._left[key, name] = _verdicts.why_left(executor, bsym)
        elif question.taker and reason.kind != _verdicts.CLAIMED:
            reason = Reason(reason.kind, f"claimed by {question.taker} before fusion: {reason.words}")
        return reason

    def _answer(self, question: Question, executor: str) -> Reason | None:
        """What an executor had against an op, or what contains it; ``None``: nothing."""
        found = [why for one in question.lineage() for name, why in one.answers if name == executor]
        if not found:
            taker = next((one.taker for one in question.lineage() if one.taker), "an executor")
            return Reason(_verdicts.CLAIMED, f"claimed by {taker} before fusion: {taker} is asked before {executor}")
        return None if None in found else found[0]

    def entries(self, trace: Any) -> Iterator[dict[str, Any]]:
        """One entry for each op of a trace that will run, in order; those of a region where the region stands."""
        for bsym in trace.bound_symbols:
            yield from self._entries(bsym, [])

    def _entries(self, bsym: Any, regions: list[Any]) -> Iterator[dict[str, Any]]:
        if _introspect.is_region(bsym):
            for sub in bsym.subsymbols:
                yield from self._entries(sub, [*regions, bsym])
        elif not _introspect.is_bookkeeping(bsym):
            yield self._entry(bsym, regions)

    def _entry(self, bsym: Any, regions: list[Any]) -> dict[str, Any]:
        key = _verdicts.key_of(bsym)
        question = self._questions.get(key)
        lineage = list(question.lineage()) if question is not None else []
        owner = regions[-1].sym.executor if regions else bsym.sym.executor
        executor = str(getattr(owner, "name", "") or next((one.taker for one in lineage if one.taker), ""))
        python = question is None and bsym.sym.python_impl is not None
        reason = self._reason(key, question, executor, regions, python=python)
        return {
            "op": lineage[0].op if lineage else _introspect.op_name(bsym),
            "runs_as": _introspect.op_name(bsym),
            "out": [_introspect.describe_value(out) for out in bsym.flat_proxy_outs],
            "executor": executor,
            "region": regions[-1].sym.name if regions else "",
            "kind": reason.kind,
            "why": reason.words,
            "asked": [
                {"op": one.op, "executor": name, "took": why is None, **({"why": why.words} if why else {})}
                for one in reversed(lineage)
                for name, why in one.answers
            ],
            "source": list(dict.fromkeys(_introspect.source_lines(bsym))),
        }

    def _reason(
        self, key: str, question: Question | None, executor: str, regions: list[Any], *, python: bool
    ) -> Reason:
        if any(str(getattr(region.sym.executor, "name", "")) in self._fusers for region in regions):
            return Reason(FUSED, f"fused by {executor}")
        if python:
            return Reason(PYTHON, PYTHON)
        if question is None:
            return Reason(MADE, f"{MADE} of {executor}") if executor else Reason(ADDED, ADDED)
        if not self._fusers:
            return Reason(NO_FUSION, NO_FUSION)
        reasons = [
            self._left.get((key, name)) or self._answer(question, name) or Reason(_verdicts.LEFT, _verdicts.LEFT)
            for name in self._fusers
        ]
        return Reason(reasons[-1].kind, "; ".join(dict.fromkeys(reason.words for reason in reasons)))


def as_text(entries: list[dict[str, Any]]) -> str:
    """JSON lines."""
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


def summary(entries: list[dict[str, Any]]) -> list[str]:
    """``226 fused``, ``12 not in the implementation map``, ...: most frequent first."""
    return [f"{count} {kind}" for kind, count in Counter(entry["kind"] for entry in entries).most_common()]
