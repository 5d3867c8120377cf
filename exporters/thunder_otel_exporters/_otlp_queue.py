"""What waits to be sent: bounded by bytes, so that a lost collector costs memory only up to a limit."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ByteQueue(Generic[Item]):
    """A queue between the compiling threads and one sending thread. ``put`` never waits for the sender.

    Items that were taken count until they are said to be done.

    Args:
        limit: most bytes that wait or are being sent.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = self._taken = 0
        self._changed = threading.Condition()
        self._hurry = self._closed = False

    def put(self, item: Item, size: int) -> bool:
        """Add an item of ``size`` bytes; False when there is no room for it or the queue is closed.

        An empty queue takes an item of any size: it would fit at no other time either.
        """
        with self._changed:
            if self._closed or (self._bytes and self._bytes + size > self._limit):
                return False
            self._items.append((item, size))
            self._bytes += size
            self._changed.notify_all()
            return True

    def take(self, most: int, delay: float) -> list[Item] | None:
        """Wait for items and take up to ``most`` bytes of them (at least one); ``None`` once closed and empty.

        Args:
            most: bytes.
            delay: seconds to wait for more after the first, so that few requests carry much.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed)
            deadline = time.monotonic() + delay
            while not (self._hurry or self._closed or self._bytes >= most):
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    break
            return self._pop(most) if self._items else None

    def done(self) -> None:
        """What was taken last is dealt with."""
        with self._changed:
            self._bytes -= self._taken
            self._taken = 0
            if not self._bytes:
                self._hurry = False
            self._changed.notify_all()

    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._items

    def is_idle(self) -> bool:
        """Whether nothing waits and nothing is being dealt with."""
        return not self._bytes

    def hurry(self) -> None:
        """Have what waits given out without delay."""
        with self._changed:
            self._hurry = self._bytes > 0
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Have everything sent without delay and wait for it, at most ``timeout`` seconds; whether it is all done."""
        self.hurry()
        with self._changed:
            return self._changed.wait_for(lambda: not self._bytes, timeout)

    def close(self) -> None:
        """Take no more, and give out what is there without delay."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _pop(self, most: int) -> list[Item]:
        taken: list[Item] = []
        while self._items and (not taken or self._taken + self._items[0][1] <= most):
            item, size = self._items.popleft()
            taken.append(item)
            self._taken += size
        return taken
