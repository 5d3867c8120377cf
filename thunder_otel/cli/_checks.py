"""What `doctor` looks at, one function a topic. None of them raises, and none imports torch or thunder here."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, files, version
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from thunder_otel import environment_variables as env
from thunder_otel.settings import Level, WrongLevel, read_settings

State = Literal["ok", "note", "problem"]
PACKAGES = (
    "thunder-otel",
    "lightning-thunder",
    "torch",
    "opentelemetry-api",
    "opentelemetry-sdk",
    "opentelemetry-exporter-otlp",
    "structlog",
    "wrapt",
)
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_DEFAULT_PORTS = {"grpc": 4317, "http/protobuf": 4318}


@dataclass(frozen=True)
class Finding:
    """A line of the doctor's report; a ``problem`` comes with its remedy."""

    topic: str
    what: str
    state: State = "ok"
    remedy: str = ""


def versions() -> Iterator[Finding]:
    """The packages that matter, and pairs of them that do not work together."""
    yield Finding("versions", f"Python {sys.version.split()[0]}")
    for name in PACKAGES:
        found = _version(name)
        if found is None:
            yield Finding("versions", f"{name} is not installed", "problem", f"pip install {name}")
        else:
            yield Finding("versions", f"{name} {found}")
    yield from _torch_pair()


def _torch_pair() -> Iterator[Finding]:
    torch = _release(_version("torch"))
    if torch >= (2, 13):
        words = "thunder 0.2.6 cannot be imported with torch 2.13 and newer: they removed methods that it reads"
        yield Finding("versions", words, "problem", "pip install 'torch>=2.7.1,<2.13'")
    elif torch >= (2, 12):
        words = "ThunderFX does not work with torch 2.12 and thunder 0.2.6 (thunder.jit does)"
        yield Finding("versions", words, "note", "pip install 'torch>=2.7.1,<2.12' to use ThunderFX")
    elif torch and torch < (2, 7, 1):
        yield Finding("versions", "thunder needs torch 2.7.1 or newer", "problem", "pip install 'torch>=2.7.1,<2.13'")


def level(environ: Mapping[str, str]) -> Iterator[Finding]:
    """The level and where it comes from."""
    try:
        settings = read_settings(environ)
    except WrongLevel as error:
        yield Finding("level", str(error), "problem", f"set {env.THUNDER_DEBUG} to one of them, or unset it")
        return
    origin = f"from {settings.level_origin}" if environ.get(env.THUNDER_DEBUG) else f"{env.THUNDER_DEBUG} is not set"
    if settings.level is Level.OFF:
        words = f"recording is off ({origin})"
        yield Finding("level", words, "note", f"set {env.THUNDER_DEBUG}=trace, or use a JIT option or instrument()")
    else:
        yield Finding("level", f"{settings.level.value}/{settings.level.name.lower()} ({origin})")
    if not settings.records_this_rank:
        words = f"{env.THUNDER_DEBUG_RANKS} leaves out rank {settings.rank}"
        yield Finding("level", words, "note", "rank is read from RANK")


def activation() -> Iterator[Finding]:
    """The line that looks at ``THUNDER_DEBUG`` when Python starts."""
    try:
        listed = [file for file in files("thunder-otel") or () if file.name == "thunder_otel.pth"]
    except PackageNotFoundError:
        listed = []
    there = any(Path(str(file.locate())).is_file() for file in listed)
    if there:
        yield Finding("activation", "thunder_otel.pth is installed: THUNDER_DEBUG works with no edit")
    else:
        words = "thunder_otel.pth is not installed: THUNDER_DEBUG does nothing by itself"
        yield Finding("activation", words, "problem", "pip install --force-reinstall --no-deps thunder-otel")


def seams() -> Iterator[Finding]:
    """Whether thunder can be imported, and which of its functions are found; in a process of its own."""
    if _version("lightning-thunder") is None or _version("torch") is None:
        return
    command = [sys.executable, "-W", "ignore", "-m", "thunder_otel._seam_probe"]
    bare = {key: value for key, value in os.environ.items() if key != env.THUNDER_DEBUG}
    try:
        done = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=300, check=False)
        probe = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        yield Finding(
            "thunder", f"the import of thunder gave no answer ({type(error).__name__})", "problem", _REINSTALL
        )
        return
    if "error" in probe:
        yield Finding("thunder", f"thunder cannot be imported: {probe['error']}", "problem", _REINSTALL)
        return
    found, missing = probe["found"], probe["missing"]
    older = f"; {len(probe['older'])} others belong to older versions only" if probe["older"] else ""
    yield Finding("thunder", f"{len(found)} of {len(found) + len(missing)} seams found{older}")
    for name, since in missing:
        yield Finding("thunder", f"{name} is not in this version ({since}): its spans will be missing", "note")
    yield from _executors(probe)


_REINSTALL = "pip install lightning-thunder==0.2.6 'torch>=2.7.1,<2.13'"


def _executors(probe: Mapping[str, Any]) -> Iterator[Finding]:
    cuda = probe["cuda"]
    if cuda:
        yield Finding("GPU", f"CUDA {probe['cuda_version']}: {cuda}")
    else:
        yield Finding("GPU", "no CUDA device: no nvFuser regions, no CUDA graphs", "note")
    if probe["nvfuser"]:
        yield Finding("GPU", f"nvFuser {probe['nvfuser']} ({probe['nvfuser_binding']})")
    else:
        remedy = "docs/install.md says which nvFuser wheel goes with which torch" if cuda else ""
        yield Finding("GPU", "nvFuser is not installed", "note", remedy)


def compiler() -> Iterator[Finding]:
    """What torch.compile needs to build regions on a CPU."""
    name = os.environ.get("CXX") or "g++"
    if shutil.which(name) is None:
        words = f"no C++ compiler ({name}): torch.compile regions cannot be built on a CPU"
        yield Finding("compiler", words, "note", "install g++, or set CXX")
    elif not Path(sysconfig.get_path("include"), "Python.h").is_file():
        words = "this Python lacks its C headers: torch.compile regions cannot be built on a CPU"
        yield Finding("compiler", words, "note", "install python3-dev, or take another Python")
    else:
        yield Finding("compiler", f"{name} and Python.h are there")


def folder(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Where run folders go."""
    path = read_settings({**environ, env.THUNDER_DEBUG: ""}).debug_dir.absolute()
    existing = next((one for one in (path, *path.parents) if one.exists()), path)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        words = f"{path} cannot be written ({error.strerror or error})"
        yield Finding("files", words, "problem", f"set {env.THUNDER_DEBUG_DIR} to a folder you may write to")
        return
    free = shutil.disk_usage(existing).free
    yield Finding("files", f"{path} can be written, {free / 1e9:.0f} GB free")


def exporters(environ: Mapping[str, str]) -> Iterator[Finding]:
    """The exporters that will be built, and whether their endpoint answers."""
    from thunder_otel.providers import EXPORTER_GROUP, OWN_GROUP, exporter_names  # noqa: PLC0415 - loads the SDK

    names = exporter_names(environ)
    known = {point.name for group in (EXPORTER_GROUP, OWN_GROUP) for point in entry_points(group=group)}
    for name in names:
        if name in known:
            yield Finding("exporters", name)
        else:
            words = f"OTEL_TRACES_EXPORTER={name} names no installed exporter"
            yield Finding("exporters", words, "problem", f"known: {', '.join(sorted(known))}, none")
    if not names:
        yield Finding("exporters", "none (OTEL_TRACES_EXPORTER=none): nothing is written or sent", "note")
    if "otlp" in names:
        yield from _endpoint(environ)


def _endpoint(environ: Mapping[str, str]) -> Iterator[Finding]:
    protocols = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((environ[name] for name in protocols if environ.get(name)), "grpc")
    port = _DEFAULT_PORTS.get(protocol, 4317)
    variable = next((name for name in ENDPOINTS if environ.get(name)), ENDPOINTS[1])
    raw = environ.get(variable) or f"http://localhost:{port}"
    parts = urlsplit(raw if "//" in raw else f"//{raw}")
    try:
        host, port = parts.hostname or "localhost", parts.port or port
        with socket.create_connection((host, port), timeout=2):
            yield Finding("exporters", f"otlp: {protocol} {host}:{port} accepts connections")
    except (OSError, ValueError) as error:
        place = parts.netloc.rpartition("@")[2]  # without user and password
        words = f"otlp: {protocol} {place} cannot be reached ({getattr(error, 'strerror', None) or error})"
        yield Finding("exporters", words, "problem", f"start the collector (`make jaeger`), or set {variable}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _release(text: str | None) -> tuple[int, ...]:
    numbers = (text or "").partition("+")[0].split(".")
    return tuple(int(number) for number in numbers if number.isdigit())
