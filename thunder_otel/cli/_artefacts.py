"""The texts of a run, each by a short id that people can type."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from thunder_otel import semconv
from thunder_otel.cli._common import fail, nearest
from thunder_otel.report._reader import Run, Stage

ID_LENGTH = 8


@dataclass(frozen=True)
class Artefact:
    """A text in a run folder. ``id`` is the start of its SHA-256; several stages may carry the same text."""

    id: str
    sha256: str
    folder: str
    path: Path
    size: int
    lines: int
    stage: Stage

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


def artefacts(runs: list[Run]) -> list[Artefact]:
    """Every text that is on disk, once, in the order in which it was recorded."""
    found: dict[tuple[Path, str], Artefact] = {}
    for run in runs:
        for stage in sorted(run.stages, key=lambda stage: int(stage.attributes.get(semconv.STAGE_INDEX, 0) or 0)):
            for payload in stage.payloads:
                parts = PurePosixPath(payload.path).parts
                if not parts or ".." in parts or parts[0] == "/":
                    continue
                path = run.folder.joinpath(*parts)
                made = Artefact(
                    payload.sha256[:ID_LENGTH], payload.sha256, parts[0], path, payload.size, payload.lines, stage
                )
                found.setdefault((run.folder, payload.path), made)
    return sorted(found.values(), key=lambda artefact: (artefact.path.parent.parent, artefact.folder, artefact.name))


def find(runs: list[Run], word: str) -> Artefact:
    """The text that a word names: the start of its hash, or (part of) its file name; ends the command without one."""
    known = artefacts(runs)
    matches = [one for one in known if one.sha256.startswith(word.lower())] if len(word) >= 4 else []
    matches = matches or [one for one in known if word in (one.name, one.path.stem)]
    matches = matches or [one for one in known if word in one.name]
    distinct = list({one.sha256: one for one in matches}.values())
    if len(distinct) == 1:
        return distinct[0]
    if distinct:
        names = ", ".join(f"{one.id} {one.name}" for one in distinct[:5])
        fail(f"{word} names {len(distinct)} texts: {names}{', ...' if len(distinct) > 5 else ''}")
    hint = nearest(word, [one.id for one in known] + [one.name for one in known])
    fail(f"no text of the run has an id or a name like {word}{hint}; `thunder-otel ls` lists them")


def read(artefact: Artefact) -> str:
    """The text; ends the command where it cannot be read. Symbolic links are not followed."""
    try:
        with os.fdopen(os.open(artefact.path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        fail(f"{artefact.path} cannot be read ({error.strerror or error})")
