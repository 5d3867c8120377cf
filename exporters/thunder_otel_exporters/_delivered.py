"""Which spans and texts of a run folder a collector has taken, kept in the folder, so that each is sent once."""

from __future__ import annotations

import fcntl
import json
import os
import weakref
from collections.abc import Collection
from pathlib import Path

DELIVERED = "delivered.jsonl"
TextId = tuple[str, str]  # span id in hexadecimal, attribute key


class FolderInUse(Exception):
    """Another process sends this folder's spans: the program that made it, or another ``resend``."""


class Ledger:
    """What was delivered, in memory and, with a folder, in its ``delivered.jsonl``.

    While it is open the file is locked: two processes would send the same spans twice.

    Args:
        folder: the run folder, or ``None`` to remember in memory only.

    Raises:
        FolderInUse: the file is locked.
        OSError: the file cannot be opened.
    """

    def __init__(self, folder: Path | None) -> None:
        self.spans: set[str] = set()
        self.texts: set[TextId] = set()
        self._descriptor = -1
        if folder is not None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            self._descriptor = os.open(folder / DELIVERED, flags, 0o600)
            try:
                self._lock(folder)
                self._read()
            except BaseException:
                self.close()
                raise
            _open.add(self)

    def mark(self, spans: Collection[str] = (), texts: Collection[TextId] = ()) -> None:
        """These were delivered.

        Raises:
            OSError: that could not be written; they are remembered in memory all the same.
        """
        self.spans.update(spans)
        self.texts.update(texts)
        if self._descriptor >= 0 and (spans or texts):
            line = json.dumps({"spans": list(spans), "texts": [list(text) for text in texts]}, separators=(",", ":"))
            os.write(self._descriptor, line.encode() + b"\n")

    def close(self) -> None:
        """Let others send from the folder."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _lock(self, folder: Path) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(f"{folder} is in use: its program still runs, or is being resent elsewhere") from None
        except OSError:
            pass  # a file system without locks: nothing to hold

    def _read(self) -> None:
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            lines = file.readlines()
            if lines and not lines[-1].endswith(b"\n"):
                os.write(self._descriptor, b"\n")
            for line in lines:
                try:
                    entry = json.loads(line)
                    self.spans.update(entry["spans"])
                    self.texts.update((span, key) for span, key in entry["texts"])
                except (ValueError, KeyError, TypeError):
                    continue  # a process was killed while it wrote this line


_open: weakref.WeakSet[Ledger] = weakref.WeakSet()


def _let_go_in_child() -> None:
    """A lock belongs to all processes that hold the descriptor: a child would keep it after its parent's end."""
    for ledger in list(_open):
        ledger.close()


os.register_at_fork(after_in_child=_let_go_in_child)
