"""One process's folder of artefacts: made safely, written safely, never larger than its limit."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from thunder_otel._guard import say
from thunder_otel._model import Payload, Stage
from thunder_otel.environment_variables import THUNDER_DEBUG_DIR, THUNDER_DEBUG_DISK_LIMIT

_ODD = re.compile(r"[^\w.+=@-]+", re.ASCII)
MAX_NAME = 120

_current: Path | None = None


def current() -> Path | None:
    """The folder that this process records to, also after recording stopped; ``None`` when there is none."""
    return _current


def announce(path: Path | None) -> None:
    """Say which folder this process records to: who sends elsewhere falls back on it."""
    global _current
    _current = path


os.register_at_fork(after_in_child=lambda: announce(None))  # a child records to a folder of its own


class RunFolder:
    """A new folder ``<UTC time>-<pid>[-rank<r>]`` under ``base``, mode 0700, files 0600.

    Everything is opened relative to the folder's descriptor and without following symbolic links, so that nothing
    put in its place later is written to.

    Args:
        base: where to make it; made when missing.
        rank: the process's rank, if it has one.
        disk_limit: most bytes that all files together may take.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(self, base: Path, *, rank: int | None, disk_limit: int) -> None:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = _make_new(base.absolute(), rank)
        self.lost = 0
        self._descriptors = {"": os.open(self.path, _DIRECTORY)}
        self._written = 0
        self._limit = disk_limit
        self._paths: dict[tuple[str, str], str] = {}
        self._sequence = itertools.count(1)

    def open_log(self, name: str) -> int:
        """A descriptor to append whole lines to; one ``write`` a line keeps lines whole, without a lock."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        return os.open(name, flags, 0o600, dir_fd=self._descriptors[""])

    def append(self, descriptor: int, line: bytes) -> bool:
        """Append a line; False when the disk limit or the disk says no."""
        return self._room(len(line)) and self._attempt(lambda: _write_all(descriptor, line))

    def write_file(self, name: str, data: bytes) -> bool:
        """Write a new file of the folder."""
        return self._room(len(data)) and self._attempt(lambda: self._create("", name, data))

    def store(self, stage: Stage, payload: Payload) -> str:
        """Keep a text once, by content; its path relative to the folder, or ``""`` when it could not be written."""
        known = self._paths.get((payload.folder, payload.sha256))
        if known is not None:
            return known
        label = f"{_compile_name(stage)}{safe_name(payload.label)}"
        name = f"{next(self._sequence):04d}-{label}{payload.suffix}"
        if not self._room(len(payload.data)):
            return ""
        if not self._attempt(lambda: self._create(payload.folder, name, payload.data)):
            return ""
        relative = self._paths[payload.folder, payload.sha256] = f"{payload.folder}/{name}"
        return relative

    def close(self) -> None:
        """Give the folder's descriptors back; nothing can be written afterwards."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()

    def _create(self, folder: str, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o600, dir_fd=self._descriptor_of(folder))
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)

    def _descriptor_of(self, folder: str) -> int:
        known = self._descriptors.get(folder)
        if known is None:
            with contextlib.suppress(FileExistsError):  # another thread was quicker; a symbolic link there fails below
                os.mkdir(folder, 0o700, dir_fd=self._descriptors[""])
            known = os.open(folder, _DIRECTORY, dir_fd=self._descriptors[""])
            self._descriptors[folder] = known
        return known

    def _room(self, size: int) -> bool:
        if self._written + size > self._limit:
            self.lost += 1
            say(
                f"{self.path} has reached its limit of {self._limit} bytes; the rest is not written"
                f" (raise {THUNDER_DEBUG_DISK_LIMIT})",
                key=f"disk-limit:{self.path}",
            )
            return False
        self._written += size
        return True

    def _attempt(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except OSError as error:
            self.lost += 1
            say(
                f"{self.path} cannot be written ({error.strerror or error}); what follows may be missing there"
                f" (set {THUNDER_DEBUG_DIR} to a folder with room)",
                key=f"disk-error:{self.path}",
            )
            return False
        return True


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def _make_new(base: Path, rank: int | None) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = f"{stamp}-{os.getpid()}" + (f"-rank{rank}" if rank is not None else "")
    for attempt in itertools.count(1):
        path = base / (name if attempt == 1 else f"{name}-{attempt}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        break
    return path


def safe_name(text: str) -> str:
    """A file name part: no separators, no odd characters, bounded; never empty."""
    name = _ODD.sub("_", text).strip("._")[:MAX_NAME]
    return name or "unnamed"


def _compile_name(stage: Stage) -> str:
    return f"{safe_name(stage.compile.fn)[:60]}-c{stage.compile.index}-" if stage.compile is not None else ""


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
