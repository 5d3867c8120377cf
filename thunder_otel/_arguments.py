"""What a region is run on, and where its generated function failed. Numbers and data of the program are never read."""

from __future__ import annotations

import linecache
import sys
from typing import Any

from thunder_otel._introspect import source_lines


def tensor_signature(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What decides whether a kernel that was compiled for such inputs fits: no data, and no value of a number."""
    tensor = sys.modules["torch"].Tensor
    return tuple(
        (value.dtype, value.device, value.shape, value.stride()) if isinstance(value, tensor) else type(value)
        for value in args
    )


def describe_argument(value: Any) -> str:
    """``cuda:0 float32 (64, 128), strides (128, 1)`` for a tensor; a number's type, never its value."""
    if not isinstance(value, sys.modules["torch"].Tensor):
        return type(value).__name__
    dtype = str(value.dtype).removeprefix("torch.")
    return f"{value.device} {dtype} {tuple(value.shape)}, strides {tuple(value.stride())}"


def tensor_bytes(args: tuple[Any, ...], mask: tuple[bool, ...], *, static: bool) -> tuple[int, int]:
    """How many tensors among a graph's inputs are static (or not), and their bytes."""
    tensor = sys.modules["torch"].Tensor
    sizes = [
        value.numel() * value.element_size()
        for value, is_static in zip(args, mask, strict=False)
        if isinstance(value, tensor) and bool(is_static) is static
    ]
    return len(sizes), sum(sizes)


def failed_symbol(error: BaseException, fn: Any, runner: Any) -> tuple[str, list[str]] | None:
    """The line of a region's generated function that raised, and the program's lines that it was made from.

    Args:
        error: what was raised; its traceback holds the line.
        fn: the region's function.
        runner: the CUDA graph runner that knows the region's symbols.
    """
    file = _innermost_code(fn).co_filename
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    text = linecache.getline(file, line).strip() if line else ""
    if not text:
        return None
    op, _, _ = text.partition("  # ")
    outputs = op.partition(" = ")[0].strip("()[] ").split(",")
    bsyms, *_ = getattr(runner, "trace_symbols", {}).get(getattr(fn, "__name__", ""), ((), (), ()))
    made = next((bsym for bsym in bsyms if outputs[0].strip() in [out.name for out in bsym.flat_proxy_outs]), None)
    return op, list(dict.fromkeys(source_lines(made))) if made is not None else []


def _innermost_code(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function.__code__


def device_index(fusion: Any, args: tuple[Any, ...]) -> int:
    """The CUDA device on which an nvFuser definition runs: the one it was told, else its inputs'."""
    selected = getattr(fusion, "_selected_device", None)
    if selected is not None:
        return int(selected)
    devices = [value.device for value in args if hasattr(value, "device")]
    return next((device.index for device in devices if device.type == "cuda"), None) or 0
