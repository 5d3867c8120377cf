"""What an install brings: the files of the wheel, its metadata, and the .pth line that every Python start runs."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
CANNOT_START = "thunder_otel: THUNDER_DEBUG is set, but recording cannot start: "


def build(hook: str, folder: Path) -> Path:
    """Builds a wheel the way pip does, but in this environment: ``build_wheel``, or ``build_editable`` for ``-e``."""
    code = f"import hatchling.build; print(hatchling.build.{hook}({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> importlib.metadata.Distribution:
    (folder,) = (path for path in zipfile.Path(wheel).iterdir() if path.name.endswith(".dist-info"))
    return importlib.metadata.PathDistribution(folder)


class Install:
    """A virtual environment that holds only this project, without its dependencies."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.python_path = folder / "bin" / "python"
        self.modules_before = self.modules()
        pip = [sys.executable, "-m", "pip", "--python", str(self.python_path), "install", "--no-deps", "--no-index"]
        subprocess.run([*pip, "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
        self.site_packages = Path(self.python("import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())

    def python(self, code: str = "pass", **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs one Python with no variable in its environment but these."""
        command = [self.python_path, "-c", code]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=True)

    def modules(self, **variables: str) -> set[str]:
        done = self.python("import sys; print(*sys.modules)", **variables)
        assert done.stderr == ""
        return set(done.stdout.split())


@pytest.fixture(scope="module", params=["build_wheel", "build_editable"])
def install(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Install:
    folder = tmp_path_factory.mktemp(request.param)
    return Install(folder / "venv", build(request.param, folder))


@pytest.fixture
def autostart(tmp_path: Path):
    """Puts another ``thunder_otel._autostart`` before the installed one; returns the variables for that."""

    def put(source: str) -> dict[str, str]:
        package = tmp_path / "thunder_otel"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "_autostart.py").write_text(source)
        return {"PYTHONPATH": str(tmp_path)}

    return put


def test_wheel_holds_both_packages_and_nothing_else(wheel: Path) -> None:
    files = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in files if ".dist-info/" not in name}
    assert tops == {"thunder_otel", "thunder_otel_exporters", "thunder_otel.pth"}
    assert {"thunder_otel/py.typed", "thunder_otel_exporters/py.typed"} <= set(files)
    for package, folder in {"thunder_otel": ROOT, "thunder_otel_exporters": ROOT / "exporters"}.items():
        for source in (folder / package).rglob("*.py"):
            assert source.relative_to(folder).as_posix() in files
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in files)


def test_metadata_bounds(metadata: importlib.metadata.Distribution) -> None:
    headers = HeaderParser().parsestr(metadata.read_text("METADATA") or "")
    python = SpecifierSet(headers["Requires-Python"])
    assert [minor for minor in range(8, 16) if f"3.{minor}.1" in python] == [10, 11, 12, 13]
    requires = [Requirement(line) for line in metadata.requires or []]
    bounds = {need.name: need.specifier for need in requires if need.marker is None}
    assert "2.7.1" in bounds["torch"] and "2.12.1" in bounds["torch"] and "2.13.0" not in bounds["torch"]
    assert "0.2.3" in bounds["lightning-thunder"] and "0.3.0" not in bounds["lightning-thunder"]
    extras = set(metadata.metadata.get_all("Provides-Extra") or [])
    assert extras == {"nvfuser", "test", "dev", "transparency", "bench"}


def test_constraints_lie_within_the_bounds(metadata: importlib.metadata.Distribution) -> None:
    lines = (line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {
        pin.name: next(iter(pin.specifier)).version for pin in pins if pin.marker is None or pin.marker.evaluate()
    }
    for line in metadata.requires or []:
        need = Requirement(line)
        wanted = any(
            need.marker is None or need.marker.evaluate({**default_environment(), "extra": extra})
            for extra in ("", "test", "dev")
        )
        if wanted and need.name != "thunder-otel":
            assert need.specifier.contains(pinned[need.name], prereleases=True), need


def test_nvfuser_extra_fits_its_torch(metadata: importlib.metadata.Distribution) -> None:
    needs = [Requirement(line) for line in metadata.requires or [] if "extra == 'nvfuser'" in line.replace('"', "'")]
    torch, nvfuser = sorted(needs, key=lambda need: need.name, reverse=True)
    assert nvfuser.name.endswith("-torch210") and next(iter(nvfuser.specifier)).operator == "=="
    assert [minor for minor in range(7, 13) if f"2.{minor}.1" in torch.specifier] == [10]


def test_entry_points_lead_somewhere(metadata: importlib.metadata.Distribution) -> None:
    found = {(point.group, point.name): point for point in metadata.entry_points}
    assert set(found) == {
        ("console_scripts", "thunder-otel"),
        ("opentelemetry_instrumentor", "thunder"),
        ("opentelemetry_traces_exporter", "thunder_files"),
        ("opentelemetry_traces_exporter", "thunder_console"),
        ("opentelemetry_traces_exporter", "thunder_otlp"),
        ("thunder_otel_exporter", "thunder_files"),
        ("thunder_otel_exporter", "thunder_console"),
        ("thunder_otel_exporter", "otlp"),
        ("pytest11", "thunder_otel"),
        ("opentelemetry_environment_variables", "thunder_otel"),
    }
    for point in found.values():
        assert point.load() is not None


def test_pth_is_one_line_that_lands_in_site_packages(install: Install) -> None:
    installed = install.site_packages / "thunder_otel.pth"
    text = installed.read_text()
    assert text == (ROOT / "packaging" / "thunder_otel.pth").read_text()
    assert text.count("\n") == 1 and text.endswith("\n")
    assert text.startswith("import ")  # what Python takes for code and not for a path
    # Python reads .pth files by name: an editable install's paths are there before the line needs them.
    pths = sorted(path.name for path in install.site_packages.glob("*.pth"))
    assert pths[-1] == "thunder_otel.pth"


@pytest.mark.parametrize("variables", [{}, {"THUNDER_DEBUG": ""}, {"THUNDER_DEBUG": "0"}, {"THUNDER_DEBUG": " 0 "}])
def test_start_without_a_level_imports_nothing(install: Install, variables: dict[str, str]) -> None:
    assert install.modules(**variables) == install.modules_before


def test_start_with_a_level_runs_autostart(install: Install, autostart) -> None:
    done = install.python(**autostart("def start(): print('started')"), THUNDER_DEBUG="trace")
    assert (set(done.stdout.splitlines()), done.stderr) == ({"started"}, "")  # Python runs it twice in an environment


def test_a_start_that_fails_costs_one_line(install: Install, autostart) -> None:
    done = install.python("print('ran')", **autostart("raise OSError('two\\nlines')"), THUNDER_DEBUG="3")
    assert done.stdout == "ran\n"
    assert done.stderr == CANNOT_START + "OSError('two\\nlines')\n"


def test_a_start_needs_no_dependency(install: Install) -> None:
    """Only a program that imports thunder pays for more than a look at the variable."""
    done = install.python("print('ran')", THUNDER_DEBUG="3")
    assert (done.stdout, done.stderr) == ("ran\n", "")


def test_pth_alone_survives(tmp_path: Path) -> None:
    """A .pth whose package somebody deleted by hand."""
    code = f"import site; site.addsitedir({str(ROOT / 'packaging')!r}); print('ran')"
    command = [sys.executable, "-S", "-I", "-c", code]
    environment = {**os.environ, "THUNDER_DEBUG": "trace"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "ran\n"
    assert done.stderr == CANNOT_START + "ModuleNotFoundError(\"No module named 'thunder_otel'\")\n"
