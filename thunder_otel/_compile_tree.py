"""A compile as a tree for the terminal: what each stage took and changed, with what changed nothing folded away.

The console exporter prints it while a program runs, ``thunder-otel tree`` from a run folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text
from rich.tree import Tree

from thunder_otel import semconv

SLOW_SHARE = 0.1  # of the compile: a stage that takes more is printed in bold


@dataclass(frozen=True, kw_only=True)
class Node:
    """A stage and those inside it.

    Attributes:
        name: the span's name.
        attributes: the span's attributes.
        seconds: how long it took; ``None`` while it is open.
        error: type and message of what it raised, or empty.
        texts: size in bytes of each text it carries.
        children: the stages inside, in order.
    """

    name: str
    attributes: dict[str, Any]
    seconds: float | None
    error: str = ""
    texts: tuple[int, ...] = ()
    children: tuple[Node, ...] = ()


def compile_tree(root: Node, *, fold: bool = True) -> Tree:
    """The tree of a compile.

    Args:
        root: its ``thunder.compile`` stage.
        fold: put runs of stages that changed nothing, and what happens inside a region, into one line each.
    """
    total = root.seconds or 0.0
    tree = Tree(_heading(root), guide_style="dim")
    _grow(tree, root.children, total, fold)
    return tree


def late_line(node: Node) -> Text:
    """One line for what comes after its compile ended: a kernel that was compiled, or a graph that was captured."""
    return Text.assemble((str(node.attributes.get(semconv.FN, "?")), "bold cyan"), "  ", _label(node, 0.0))


def human_bytes(size: int) -> str:
    """Bytes for people: ``512 B``, ``12.3 kB``, ``4.4 MB``."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1e3:.1f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB"


def human_seconds(seconds: float | None) -> str:
    """Seconds for people: ``830 us``, ``36 ms``, ``6.05 s``."""
    if seconds is None:
        return "open"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _grow(tree: Tree, nodes: Iterable[Node], total: float, fold: bool) -> None:
    quiet: list[Node] = []
    for node in nodes:
        if fold and _is_quiet(node):
            quiet.append(node)
            continue
        _add_quiet(tree, quiet)
        branch = tree.add(_label(node, total))
        if not (fold and node.name.startswith(semconv.SPAN_REGION)):
            _grow(branch, node.children, total, fold)
    _add_quiet(tree, quiet)


def _is_quiet(node: Node) -> bool:
    """Whether nothing came of a stage: no new text, no region that runs, no error, also not inside it."""
    if node.error or node.seconds is None or node.name.startswith(semconv.SPAN_CODEGEN):
        return False
    if node.name.startswith(semconv.SPAN_REGION):
        return node.attributes.get(semconv.REGION_FINAL) is False
    if node.attributes.get(semconv.TRACE_CHANGED) is not False and node.texts:
        return False
    return all(_is_quiet(child) for child in node.children)


def _add_quiet(tree: Tree, quiet: list[Node]) -> None:
    if quiet:
        regions = sum(node.name.startswith(semconv.SPAN_REGION) for node in quiet)
        stages = len(quiet) - regions
        words = [f"{_count(stages, 'stage')} changed nothing"] if stages else []
        words += [f"{_count(regions, 'region')} fused again later"] if regions else []
        seconds = human_seconds(sum(node.seconds or 0.0 for node in quiet))
        tree.add(Text(f"{', '.join(words)}  {seconds}", style="dim"))
        quiet.clear()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _heading(root: Node) -> Text:
    attributes = root.attributes
    text = Text()
    text.append(str(attributes.get(semconv.FN, "?")), style="bold cyan")
    text.append(f"  compile {attributes.get(semconv.COMPILE_INDEX, '?')}: {attributes.get(semconv.COMPILE_REASON, '')}")
    text.append(f"  {human_seconds(root.seconds)}", style="bold")
    _append_error(text, root)
    return text


def _label(node: Node, total: float) -> Text:
    attributes = node.attributes
    text = Text(node.name.removeprefix("thunder.").strip())
    kind = attributes.get(semconv.KIND)
    if kind and not node.name.endswith(str(kind)):
        text.append(f"  {kind}", style="cyan")
    for part, style in _facts(attributes, node.texts):
        text.append(f"  {part}", style=style)
    slow = bool(total) and (node.seconds or 0.0) > SLOW_SHARE * total
    text.append(f"  {human_seconds(node.seconds)}", style="bold yellow" if slow else "dim")
    _append_error(text, node)
    return text


def _facts(attributes: dict[str, Any], texts: Sequence[int]) -> Iterable[tuple[str, str]]:
    for key, sign, style in (
        (semconv.TRACE_LINES_ADDED, "+", "green"),
        (semconv.TRACE_LINES_REMOVED, "-", "red"),
    ):
        if attributes.get(key):
            yield f"{sign}{attributes[key]}", style
    if semconv.REGION_OP_COUNT in attributes:
        inputs, outputs = attributes.get(semconv.REGION_INPUTS, ()), attributes.get(semconv.REGION_OUTPUTS, ())
        yield f"{_count(attributes[semconv.REGION_OP_COUNT], 'op')}, {len(inputs)} in, {len(outputs)} out", "magenta"
    if semconv.FUSED_COUNT in attributes:
        unfused = len(attributes.get(semconv.UNFUSED_OPS, ()))
        yield f"{_count(attributes[semconv.FUSED_COUNT], 'region')}, {_count(unfused, 'op')} left out", "magenta"
    if semconv.KERNEL_COUNT in attributes:
        cached = ", cached" if attributes.get(semconv.KERNEL_CACHED) else ""
        language = attributes.get(semconv.KERNEL_LANGUAGE) or "no language"
        yield f"{_count(attributes[semconv.KERNEL_COUNT], 'kernel')} in {language}{cached}", "magenta"
    if texts:
        yield human_bytes(sum(texts)), "dim"


def _append_error(text: Text, node: Node) -> None:
    if node.error:
        text.append(f"  {node.error.splitlines()[0]}", style="bold red")
