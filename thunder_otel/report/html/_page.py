"""The page itself: style, script and data in one file, with a policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import jinja2
from pygments.formatters import HtmlFormatter

_TOKENS = {"c1", "cm", "cp", "k", "kc", "mi", "n", "nd", "nf", "o", "s"}
_THEME_SCRIPT = """\
try {
  const theme = localStorage.getItem("thunder-otel-theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // a browser may refuse storage to a page from disk: the system's choice stands
}
"""


def _static(folder: str, suffix: str) -> str:
    found = files(__package__).joinpath("static").joinpath(folder)
    parts = sorted((part for part in found.iterdir() if part.name.endswith(suffix)), key=lambda part: part.name)
    return "\n".join(part.read_text("utf-8") for part in parts)


def _colours() -> str:
    """Pygments' colours for the token classes that the page's script uses, for light and for dark."""
    rules = []
    for style, name in (("light", "friendly"), ("dark", "github-dark")):
        formatter: Any = HtmlFormatter(style=name)
        for rule in formatter.get_style_defs(".code").splitlines():
            selector, brace, body = rule.partition(" {")
            token = selector.removeprefix(".code .")
            if not brace or token not in _TOKENS or "color" not in body:
                continue
            declarations = body.partition("}")[0].strip()
            if style == "light":
                rules.append(f".code .{token} {{ {declarations} }}")
            else:
                rules.append(f':root[data-theme="dark"] .code .{token} {{ {declarations} }}')
                rules.append(
                    "@media (prefers-color-scheme: dark) { "
                    f':root:not([data-theme="light"]) .code .{token} {{ {declarations} }} }}'
                )
    return "\n".join(rules)


def _digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def data_block(value: Any) -> str:
    """JSON that is safe inside a script element: no ``<``, so neither ``</script`` nor ``<!--``."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")


def head(report: dict[str, Any], summary: dict[str, Any], *, version: str) -> str:
    """All of the page up to the texts, which follow as data blocks.

    Args:
        report: what the page's script reads.
        summary: what the summary template shows.
        version: this package's version.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = '"use strict";\n{\n' + _static("js", ".js") + "\n}\n"
    css = _static("css", ".css") + "\n" + _colours()
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_digest(script)} {_digest(_THEME_SCRIPT)}",
            f"style-src {_digest(css)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    return environment.get_template("page.html.j2").render(
        **summary,
        policy=policy,
        css=css,
        script=script,
        theme_script=_THEME_SCRIPT,
        data=data_block(report),
        title=report["title"],
        version=version,
    )
