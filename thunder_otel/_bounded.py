"""Runs a user's function on a worker thread and waits for it no longer than a limit."""

from __future__ import annotations

import asyncio
import inspect
import os
import queue
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.context import attach, get_current


class Overrun(Exception):
    """The function did not finish in time; it goes on running on its own thread, and nobody looks at it again."""


@dataclass(eq=False)
class Job:
    """One call."""

    call: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    @property
    def finished(self) -> bool:
        """Whether the call has returned or raised."""
        return self.done.is_set()


class _Worker:
    """A daemon thread that takes one job after another."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="thunder_otel-hook", daemon=True).start()

    def _run(self) -> None:
        _here.worker = True
        while (job := self.jobs.get()) is not None:
            try:
                result = job.call()
                if inspect.isawaitable(result):
                    asyncio.run(_until_done(result))
            except BaseException as error:  # it is handed to the caller, who decides
                job.error = error
            job.call = _nothing  # keeps the record no longer than needed
            job.done.set()


class _Here(threading.local):
    worker = False


_here = _Here()
_idle: list[_Worker] = []


def on_worker() -> bool:
    """Whether this thread runs somebody's function under a limit right now."""
    return _here.worker


def start(call: Callable[[], Any], limit: float) -> Job:
    """Run ``call`` on a worker thread.

    The worker sees the caller's OpenTelemetry context and none of thunder's: what runs there is never traced.

    Args:
        call: the function; a coroutine that it returns is run to its end.
        limit: how long to wait, in seconds.

    Raises:
        Overrun: it takes longer. The job is in ``args[0]``.
        RuntimeError: no thread can be started (the interpreter is ending).
    """
    context = get_current()

    def in_context() -> Any:
        attach(context)
        return call()

    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    job = Job(in_context)
    worker.jobs.put(job)
    if job.done.wait(limit):
        _idle.append(worker)
        return job
    worker.jobs.put(None)  # it ends after this job
    raise Overrun(job)


def stop_idle() -> None:
    """End the threads that wait for work."""
    while _idle:
        _idle.pop().jobs.put(None)


async def _until_done(awaitable: Awaitable[Any]) -> None:
    await awaitable


def _nothing() -> None:
    """What a finished job holds in place of its call."""


os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads
