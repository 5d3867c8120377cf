"""Reads FX graphs without forcing their lazy recompile: a graph whose code was never asked for stays as it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_NODE = re.compile(r"node with name: (\S+) and target: (.*?)(?:,? (?:is not|only has|has been|didn't|see)\b|$)")
_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


@dataclass(frozen=True)
class GraphFacts:
    """What stands in a graph: its code, the ops it calls in order, and the program's lines they come from."""

    text: str
    ops: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class SplitReason:
    """An op that thunder did not take: thunder's words, the op, its ``file:line``, and the exception's text."""

    reason: str
    op: str
    source: str
    exception: str


def describe(graph_module: Any) -> GraphFacts:
    """The facts of a graph module."""
    calls = [node for node in graph_module.graph.nodes if node.op.startswith("call_")]
    return GraphFacts(
        graph_text(graph_module),
        tuple(op_name(node) for node in calls),
        tuple(dict.fromkeys(source for node in calls if (source := source_of(node)))),
    )


def graph_text(graph_module: Any) -> str:
    """The graph as Python, with shapes; generated beside the module's own code, which is left alone."""
    try:
        return str(graph_module.graph.python_code("self", verbose=True).src).strip() + "\n"
    except Exception as error:
        return f"{graph_module.graph}\n# its code cannot be shown: {type(error).__name__}: {error}\n"


def op_name(node: Any) -> str:
    """``torch.sinc`` for a function, the name of a method or a module."""
    target = node.target
    if isinstance(target, str):
        return target
    node_module = sys.modules.get("torch.fx.node")
    try:
        return str(node_module._get_qualified_name(target))  # type: ignore[union-attr]
    except Exception:  # a target that FX itself cannot name, e.g. a partial
        return str(getattr(target, "__name__", target))


def source_of(node: Any) -> str:
    """``file:line`` of the innermost line of the program that made a node, or ``""``."""
    found = _LINE.findall(getattr(node, "stack_trace", None) or "")
    return f"{found[-1][0]}:{found[-1][1]}" if found else ""


def subgraph_names(split_module: Any) -> Iterator[tuple[int, str]]:
    """``(id of what the compiler returned, name in the split module)``; an eager piece is its own result."""
    for name, child in split_module.named_children():
        yield id(child), name
        if "fn" in vars(child):  # thunder puts Inductor's function into a module
            yield id(child.fn), name


def children_of(split_module: Any) -> list[str]:
    """Names of the subgraphs in the order they run."""
    names = {name for name, _ in split_module.named_children()}
    return [str(node.target) for node in split_module.graph.nodes if node.op == "call_module" and node.target in names]


def split_reasons(info: Any) -> list[SplitReason]:
    """Every op that thunder did not take, from its ``SubgraphInfo``."""
    original = getattr(info, "original_graph_module", None)
    nodes = {node.name: node for node in original.graph.nodes} if original is not None else {}
    found = []
    for reason in info.split_reasons or ():
        text = str(reason.info or reason.reason_type)
        match = _NODE.search(text)
        node = nodes.get(match[1]) if match is not None else None
        found.append(
            SplitReason(
                text,
                op_name(node) if node is not None else "",
                source_of(node) if node is not None else "",
                str(reason.exception or ""),
            )
        )
    return found
