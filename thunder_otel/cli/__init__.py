"""``thunder-otel``: look at what was recorded, send it, compare it, and find out why nothing was."""

from thunder_otel.cli._app import main as main
