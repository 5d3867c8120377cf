"""The one place that patches, and that undoes only what is still ours."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import wrapt

Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
Factory = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, eq=False)
class Patch:
    """One replaced attribute: ``owner.name`` was ``original`` and is ``replacement``."""

    owner: Any
    name: str
    original: Any
    replacement: Any


_patches: list[Patch] = []
_MARK = "__thunder_otel__"


def installed() -> tuple[Patch, ...]:
    """The patches in force, oldest first."""
    return tuple(_patches)


def wrapt_factory(wrapper: Wrapper) -> Factory:
    """Replacements made by wrapt: they keep signature, name, identity checks and descriptors of what they wrap."""
    return lambda wrapped: _Ours(wrapped, wrapper)


def closure_factory(factory: Factory) -> Factory:
    """Replacements that are plain closures, for what a cached call passes through: a third of wrapt's time."""

    def make(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        replacement = functools.wraps(wrapped)(factory(wrapped))
        setattr(replacement, _MARK, True)
        return replacement

    return make


def patch_function(module: str, name: str, factory: Factory, *, package: str) -> int:
    """Wrap a module's function wherever modules of ``package`` bind it by name.

    ``from a import f`` copies the binding, so replacing ``a.f`` alone would miss most callers. A binding that some
    other tool wrapped is wrapped around that tool's wrapper; one that already holds a wrapper of ours is left.

    Args:
        module: the loaded module that defines the function.
        name: its name there.
        factory: makes the replacement of a binding, see :func:`wrapt_factory`.
        package: only its modules are looked at.

    Returns:
        How many bindings were replaced; 0 when the function does not exist.
    """
    origin = _innermost(getattr(sys.modules.get(module), name, None))
    if origin is None:
        return 0
    count = 0
    for owner in _modules_of(package):
        current = vars(owner).get(name)
        if current is None or _innermost(current) is not origin or _holds_ours(current):
            continue
        _replace(owner, name, current, factory(current))
        count += 1
    return count


def patch_method(cls: type, name: str, wrapper: Wrapper | None = None, *, factory: Factory | None = None) -> bool:
    """Wrap a method that ``cls`` itself defines, by a wrapper or what a factory makes.

    False when it defines none, or when it is wrapped already.
    """
    current = vars(cls).get(name)
    if current is None or _holds_ours(current):
        return False
    make = factory if wrapper is None else wrapt_factory(wrapper)
    if make is not None:
        _replace(cls, name, current, make(current))
    return make is not None


def unpatch_all(*, package: str) -> list[str]:
    """Put every original back where the binding is still ours.

    Bindings that modules copied while we were in force are put back too. What someone wrapped after us stays, with
    our wrapper inert inside it.

    Returns:
        The dotted names that were left because another tool wrapped them.
    """
    ours = {id(patch.replacement): patch for patch in _patches}
    for owner in _modules_of(package):
        for name, value in list(vars(owner).items()):
            patch = ours.get(id(value))
            if patch is not None and patch.replacement is value:
                setattr(owner, name, patch.original)
    left = []
    for patch in reversed(_patches):
        current = vars(patch.owner).get(patch.name)
        if current is patch.replacement:
            setattr(patch.owner, patch.name, patch.original)
        elif current is not patch.original:
            left.append(f"{getattr(patch.owner, '__name__', patch.owner)}.{patch.name}")
    _patches.clear()
    return left


class _Ours(wrapt.FunctionWrapper):  # type: ignore[type-arg, unused-ignore]
    """A wrapper of this project: the class is how we tell ours from another tool's."""


def _replace(owner: Any, name: str, current: Any, replacement: Any) -> None:
    setattr(owner, name, replacement)
    _patches.append(Patch(owner, name, current, replacement))


def _layers(value: Any) -> Iterator[Any]:
    """A function and what is under it, layer by layer of ``functools.wraps`` or wrapt."""
    for _ in range(100):  # a cycle in __wrapped__ must not hang an import
        yield value
        value = getattr(value, "__wrapped__", None)
        if value is None:
            return


def _innermost(value: Any) -> Any:
    *_, last = _layers(value)
    return last


def _holds_ours(value: Any) -> bool:
    return any(type(layer) is _Ours or getattr(layer, "__dict__", {}).get(_MARK) for layer in _layers(value))


def _modules_of(package: str) -> Iterator[ModuleType]:
    prefix = package + "."
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and (name == package or name.startswith(prefix)):
            yield module


def watch_constructor(cls: type, wrapper: Wrapper) -> None:
    """Wrap ``__init__`` for good: it is no part of recording, and :func:`unpatch_all` leaves it."""
    if not _holds_ours(vars(cls).get("__init__")):
        setattr(cls, "__init__", _Ours(vars(cls)["__init__"], wrapper))  # noqa: B010 - mypy refuses the plain form
