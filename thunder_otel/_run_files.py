"""Reads a text of a run folder by the path that its record names, and nothing that is not inside the folder."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath


def read_file(folder: Path, path: str) -> bytes | None:
    """The bytes of a plain file in a run folder; ``None`` when there is none.

    Nothing is read that a symbolic link or a path with ``..`` points to.

    Args:
        folder: the run folder.
        path: relative to it, as a record names it.
    """
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or parts[0] == "/" or (folder / parts[0]).is_symlink():
        return None
    try:
        with os.fdopen(os.open(folder.joinpath(*parts), os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read()
    except OSError:
        return None
