"""The site: ``python -m sphinx docs site -W -n``. Nothing is fetched from anywhere; formulas become MathML."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("BSFW_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import bsfw

project = "bsfw"
author = "The bsfw developers"
copyright = "2026, the bsfw developers"
version = release = bsfw.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "reference",
]
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_templates", "gallery/README.rst", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
nitpick_ignore_regex = [("py:.*", r"(torch|sklearn|optax|optimistix|enum|frozenset|int|scipy|typing|collections)\b.*")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "min_reported_time": 5,
    "reset_modules": ("matplotlib",),
}


html_theme = "pydata_sphinx_theme"
html_title = f"bsfw {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
