"""Which texts a report holds: each content once, however many stages and ranks share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thunder_otel.report._reader import Run, StoredPayload
from thunder_otel.report.html import _texts

_LANGUAGES = {".py": "py", ".cpp": "cpp", ".cu": "cpp", ".h": "cpp", ".c": "cpp"}


@dataclass(frozen=True)
class StoredText:
    """A text that goes into the page, and the file that holds it."""

    id: str
    file: Path
    size: int
    lines: int
    language: str


@dataclass
class TextStore:
    """The texts in the order in which stages name them.

    Args:
        change: what is done to a text before it is packed (``str -> str``); ``None`` packs the file as it is, a chunk
            at a time.
    """

    change: Callable[[str], str] | None = None
    _by_content: dict[str, StoredText] = field(default_factory=dict)

    def add(self, run: Run, payload: StoredPayload) -> str:
        """The identifier of a payload's text in the page."""
        content = payload.sha256 or f"{run.folder}/{payload.path}"
        known = self._by_content.get(content)
        if known is None:
            file = run.folder / payload.path
            language = _LANGUAGES.get(file.suffix, "text")
            known = StoredText(f"t{len(self._by_content)}", file, payload.size, payload.lines, language)
            self._by_content[content] = known
        return known.id

    @property
    def texts(self) -> list[StoredText]:
        """Every text, each content once."""
        return list(self._by_content.values())

    @property
    def size(self) -> int:
        """Bytes of all texts, before packing."""
        return sum(text.size for text in self._by_content.values())

    def table(self) -> dict[str, dict[str, Any]]:
        """What the page knows of each text before it unpacks it."""
        return {text.id: {"size": text.size, "lines": text.lines, "language": text.language} for text in self.texts}

    def blocks(self, done: Callable[[int], None] | None = None) -> Iterator[bytes]:
        """The data blocks of all texts; a file that is gone is left out. ``done`` hears the bytes of each text."""
        for text in self.texts:
            if text.file.is_file():
                yield from _texts.block(text.id, self._chunks(text.file))
            if done is not None:
                done(text.size)

    def _chunks(self, file: Path) -> Iterator[bytes]:
        if self.change is not None:
            changed = self.change(file.read_text("utf-8", "replace"))
            yield changed.encode("utf-8", "backslashreplace")
            return
        with file.open("rb") as opened:
            yield from _texts.file_chunks(opened)
