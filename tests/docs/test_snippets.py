"""Every Python snippet of README.md and docs/ runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bsfw

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
SNIPPET = re.compile(r"(?P<fragment><!-- fragment: .+ -->\n)?^```python\n(?P<code>.*?)^```$", re.M | re.S)
"""A snippet, and the mark on the line above of one that cannot run alone, with the reason."""
LOADED = re.compile(r'datasets\.load\("(.+?)"\)')
EXTRAS = {"torch", "jax", "qiskit", "sklearn", "dask"}
"""Packages that the test extra need not bring."""


def snippets(page: Path) -> list[str]:
    """Those that must run, each with the empty lines before it that put a traceback on the page's line."""
    text = page.read_text(encoding="utf-8")
    return [
        "\n" * text.count("\n", 0, found.start("code")) + found["code"]
        for found in SNIPPET.finditer(text)
        if not found["fragment"]
    ]


WITH_SNIPPETS = [page for page in PAGES if snippets(page)]


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_snippets_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = {row.name for row in bsfw.datasets.available() if row.place != "download"}
    names: dict[str, object] = {"__name__": "__main__"}
    for code in snippets(page):
        if missing := set(LOADED.findall(code)) - here:
            pytest.skip(f"needs data that are not here: {', '.join(missing)}")
        try:
            exec(compile(code, page, "exec"), names)
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            pytest.skip(f"needs {error.name}")


def test_the_pages_are_found_and_few_of_their_snippets_are_fragments() -> None:
    found = [match for page in PAGES for match in SNIPPET.finditer(page.read_text(encoding="utf-8"))]
    assert ROOT / "README.md" in WITH_SNIPPETS
    assert len(found) == sum(page.read_text(encoding="utf-8").count("```python") for page in PAGES)
    assert sum(match["fragment"] is not None for match in found) <= 3
