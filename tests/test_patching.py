"""Wrapping thunder's functions beside other tools that do the same."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
import wrapt

from thunder_otel import _patching

PACKAGE = "patched_package"


def wrapper(wrapped, instance, args, kwargs):  # type: ignore[no-untyped-def]
    return ("ours", wrapped(*args, **kwargs))


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    """Two modules: one defines ``f``, the other binds it by name."""
    home, user = ModuleType(f"{PACKAGE}.home"), ModuleType(f"{PACKAGE}.user")

    def f(x: int) -> int:
        """Doc."""
        return x + 1

    home.f = user.f = user.alias = f  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, home.__name__, home)
    monkeypatch.setitem(sys.modules, user.__name__, user)
    yield home, user
    _patching.unpatch_all(package=PACKAGE)


def patch() -> int:
    return _patching.patch_function(f"{PACKAGE}.home", "f", _patching.wrapt_factory(wrapper), package=PACKAGE)


def test_every_binding_of_the_same_name_is_wrapped_and_put_back(modules: tuple[ModuleType, ModuleType]) -> None:
    home, user = modules
    original = home.f
    assert patch() == 2
    assert home.f(1) == user.f(1) == ("ours", 2)
    assert user.alias is original
    assert _patching.unpatch_all(package=PACKAGE) == []
    assert home.f is user.f is original
    assert _patching.installed() == ()


def test_a_wrapped_function_looks_like_itself(modules: tuple[ModuleType, ModuleType]) -> None:
    home, _ = modules
    original = home.f
    patch()
    assert (home.f.__name__, home.f.__doc__) == ("f", "Doc.")
    assert inspect.signature(home.f) == inspect.signature(original)
    assert inspect.isfunction(home.f) == inspect.isfunction(original)


def test_wrapping_twice_wraps_once(modules: tuple[ModuleType, ModuleType]) -> None:
    patch()
    assert patch() == 0


def test_a_missing_function_is_no_error(modules: tuple[ModuleType, ModuleType]) -> None:
    factory = _patching.wrapt_factory(wrapper)
    assert _patching.patch_function(f"{PACKAGE}.home", "absent", factory, package=PACKAGE) == 0
    assert _patching.patch_function(f"{PACKAGE}.absent", "f", factory, package=PACKAGE) == 0


def test_a_tool_that_wrapped_before_us_stays_inside(modules: tuple[ModuleType, ModuleType]) -> None:
    home, _ = modules
    original = home.f

    @functools.wraps(original)
    def theirs(x: int) -> tuple[str, int]:
        return ("theirs", original(x))

    home.f = theirs
    patch()
    assert home.f(1) == ("ours", ("theirs", 2))
    _patching.unpatch_all(package=PACKAGE)
    assert home.f is theirs


def test_a_tool_that_wrapped_after_us_is_left_and_named(modules: tuple[ModuleType, ModuleType]) -> None:
    home, _ = modules
    patch()
    theirs = home.f = wrapt.FunctionWrapper(home.f, lambda f, _i, a, k: ("theirs", f(*a, **k)))
    assert _patching.unpatch_all(package=PACKAGE) == [f"{PACKAGE}.home.f"]
    assert home.f is theirs


def test_a_binding_copied_while_we_were_in_force_is_put_back(modules: tuple[ModuleType, ModuleType]) -> None:
    home, user = modules
    original = home.f
    patch()
    user.copied = home.f  # type: ignore[attr-defined]
    _patching.unpatch_all(package=PACKAGE)
    assert user.copied is original


def test_methods_are_wrapped_where_they_are_defined() -> None:
    class Base:
        def run(self) -> int:
            return 1

    class Child(Base):
        pass

    assert not _patching.patch_method(Child, "run", wrapper)
    assert _patching.patch_method(Base, "run", wrapper)
    assert not _patching.patch_method(Base, "run", wrapper)
    assert Child().run() == ("ours", 1)
    _patching.unpatch_all(package=PACKAGE)
    assert Child().run() == 1


def test_a_closure_is_known_as_ours() -> None:
    class Owner:
        def run(self) -> int:
            return 1

    factory = _patching.closure_factory(lambda wrapped: lambda *a, **k: ("ours", wrapped(*a, **k)))
    assert _patching.patch_method(Owner, "run", factory=factory)
    assert not _patching.patch_method(Owner, "run", factory=factory)
    assert Owner().run() == ("ours", 1)
    _patching.unpatch_all(package=PACKAGE)
