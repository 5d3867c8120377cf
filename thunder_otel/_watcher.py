"""Watches open stages while they run: keeps a sign of life on disk, and says it when one is open for very long."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from thunder_otel import logs, semconv
from thunder_otel._guard import guarded, say
from thunder_otel.environment_variables import THUNDER_DEBUG_STUCK_SECONDS

if TYPE_CHECKING:
    from thunder_otel._model import Stage

INTERVAL = 1.0  # seconds between two looks
IDLE_LOOKS = 30  # looks without an open stage, after which the thread ends until the next one


class Watcher:
    """A daemon thread that looks at the open stages once a second, and exists only while there are some.

    Args:
        open_stages: gives the stages that are open now.
        heartbeat: called at each look while one is.
        stuck_seconds: how long a stage may be open before it is said, once; 0: for ever.
        clock: nanoseconds since the epoch.
    """

    def __init__(
        self,
        open_stages: Callable[[], Iterable[Stage]],
        heartbeat: Callable[[], object],
        *,
        stuck_seconds: float,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._open_stages = open_stages
        self._heartbeat = heartbeat
        self._limit_ns = int(stuck_seconds * 1e9)
        self._clock = clock
        self._said: set[str] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @guarded(None)
    def wake(self) -> None:
        """A stage started: see to it that somebody looks."""
        if self._thread is None and not self._stop.is_set():
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="thunder_otel-watcher", daemon=True)
                    self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(INTERVAL)

    def look(self) -> bool:
        """One look; whether a stage is open."""
        stages = list(self._open_stages())
        if stages:
            self._heartbeat()
        if self._limit_ns:
            self._report([stage for stage in stages if self._clock() - stage.start_ns > self._limit_ns])
        return bool(stages)

    def _run(self) -> None:
        idle = 0
        while idle < IDLE_LOOKS and not self._stop.wait(INTERVAL):
            idle = 0 if guarded(False)(self.look)() else idle + 1
        self._thread = None

    def _report(self, stuck: list[Stage]) -> None:
        """Say the innermost of the stages on each thread; the ones around it are open for its sake."""
        outer = {stage.parent_id for stage in stuck}
        for stage in stuck:
            if stage.span_id in self._said:
                continue
            self._said.add(stage.span_id)
            if stage.span_id not in outer:
                self._say(stage)

    def _say(self, stage: Stage) -> None:
        seconds = (self._clock() - stage.start_ns) / 1e9
        frame = sys._current_frames().get(stage.thread_id)
        frames = traceback.extract_stack(frame) if frame is not None else []
        where = f"; it is in {frames[-1].name} ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        function = stage.compile.fn if stage.compile is not None else "?"
        name = f"{stage.name.strip()} of {function}"
        say(
            f"{name} has been open for {seconds:.0f} s on thread {stage.thread_name}{where};"
            f" the stack is in events.jsonl (said once, after {THUNDER_DEBUG_STUCK_SECONDS})",
            key=f"stuck:{stage.span_id}",
        )
        stack = "".join(traceback.format_list(frames))
        logs.happened(semconv.EVENT_STUCK, stage, seconds=seconds, stack=stack)
