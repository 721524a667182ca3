"""The documentation site: `python -m sphinx -W -b html docs build/site` with `pip install 'ascend-infer[docs]'`.

Pages are Markdown as GitHub shows it; the reference is made of the docstrings. The compiled module is described by its
stub, `ascend_infer/_native.pyi`, which stands in its place here: the site builds without a compiler.
"""

from __future__ import annotations
import __future__

import importlib
import pkgutil
import sys
import types
from pathlib import Path

from docutils import nodes

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

stub = types.ModuleType("ascend_infer._native", "The compiled core, as its stub describes it.")
source = ROOT / "ascend_infer" / "_native.pyi"
sys.modules[stub.__name__] = stub
exec(compile(source.read_text(), str(source), "exec", __future__.annotations.compiler_flag), stub.__dict__)

import ascend_infer  # noqa: E402

# What modules import at first use is not among their members until then.
for found in pkgutil.iter_modules(ascend_infer.__path__):
    if found.ispkg:
        package = importlib.import_module(f"ascend_infer.{found.name}")
        for name in getattr(package, "__all__", ()):
            setattr(package, name, getattr(package, name))

project = "ascend-infer"
author = "the ascend-infer authors"
copyright = "the ascend-infer authors, Apache-2.0"
release = version = ascend_infer.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
root_doc = "index"
exclude_patterns = ["*.txt"]

html_theme = "alabaster"
html_theme_options = {
    "page_width": "1200px",
    "sidebar_width": "260px",
    "description": "Inference on Ascend NPUs",
}
html_show_sourcelink = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": True, "inherited-members": "Mapping, Exception"}
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
# Types in docstrings are words ("path", "dims"), which attributes of many classes are called too.
suppress_warnings = ["ref.python"]


def name_files_of_the_tree(app: object, doctree: nodes.document) -> None:
    """Show links to files that are no pages (examples, benchmarks) as their names: the site has no copy of them."""
    for link in list(doctree.findall()):
        target = link.get("reftarget", "") if isinstance(link, nodes.Element) else ""
        if target.startswith("../") and not target.split("#")[0].endswith(".md"):
            link.replace_self(nodes.literal("", target.removeprefix("../")))


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("doctree-read", name_files_of_the_tree)  # type: ignore[attr-defined]
