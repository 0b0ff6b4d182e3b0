"""Sphinx settings: MyST pages, every warning an error, nothing fetched from elsewhere."""

from hub_ext import __version__

project = "GPU Commons for JupyterHub"
author = "GPU Commons contributors"
copyright = "2026, GPU Commons contributors"
version = release = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
master_doc = "index"
exclude_patterns = ["_build"]
nitpicky = True
html_theme = "alabaster"
html_theme_options = {
    "description": "Shared GPUs under one policy",
    "fixed_sidebar": True,
    "page_width": "64rem",
}
html_show_sourcelink = False
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3
