"""The gallery of bsfw.sklearn runs."""

import runpy
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "examples" / "sklearn").glob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_of_the_gallery_runs(page, capsys):
    runpy.run_path(str(page), run_name="__main__")
    assert capsys.readouterr().out
