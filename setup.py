"""Extensions only; all metadata is in pyproject.toml.

To add an extension, add one entry to EXTENSIONS.
"""

from __future__ import annotations

from setuptools import Extension, setup

#: Every compiled part of the package: (module name, sources, include directories).
EXTENSIONS: list[Extension] = []


def build() -> list[Extension]:
    if not EXTENSIONS:
        return []
    from Cython.Build import cythonize

    return list(cythonize(EXTENSIONS, include_path=["_ext"], build_dir="build/cython", language_level=3))


setup(ext_modules=build())
