"""Extensions only; all metadata is in pyproject.toml.

To add an extension, add one entry to EXTENSIONS.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class SharedLibrary(Extension):
    """A library for dlopen and linkers: its plain name, no PyInit, no Python inside."""


#: What our own C++ must bear; C++ that Cython writes does not.
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]

#: Every compiled part of the package: (module name, sources, include directories).
EXTENSIONS: list[Extension] = []

if sys.platform == "linux":
    EXTENSIONS.append(
        SharedLibrary(
            "ascend_infer.simulator.libascendcl_sim",
            sorted(glob("_ext/sim/*.cpp")),
            depends=[*glob("_ext/sim/*.hpp"), "_ext/sim/exports.map", *glob("_ext/*.h")],
            language="c++",
            extra_compile_args=[
                *("-std=c++17", "-O2", "-g0", "-fvisibility=hidden", "-pthread"),
                *STRICT,
            ],
            extra_link_args=[
                "-pthread",
                "-ldl",
                "-Wl,-soname,libascendcl_sim.so",
                "-Wl,--version-script=_ext/sim/exports.map",
                "-Wl,-z,nodelete",
            ],
        )
    )

# A build a Python version: the limited API works too, but calls that make and drop objects cost a third more under it.
EXTENSIONS.append(
    Extension(
        "ascend_infer._native",
        ["_ext/_native.pyx", *sorted(glob("_ext/core/*.cpp"))],
        include_dirs=["_ext"],
        depends=[*glob("_ext/*.pxi"), *glob("_ext/*.pxd"), *glob("_ext/core/*.hpp")],
        language="c++",
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
        extra_compile_args=["-std=c++17", "-O2", "-g0", "-fvisibility=hidden", "-pthread", "-Wall"],
        extra_link_args=["-pthread", *(["-ldl"] if sys.platform == "linux" else [])],
    )
)


def has_compiler() -> bool:
    named = os.environ.get("CXX", "").split()[:1]
    return any(map(shutil.which, named or ("c++", "g++", "clang++")))


class BuildExtensions(build_ext):
    """Names shared libraries as linkers expect, and compiles their sources side by side."""

    def run(self) -> None:
        """Say what is missing before a compiler does so in a hundred lines."""
        if not has_compiler():
            raise SystemExit(
                "ascend_infer is compiled and there is no C++ compiler here (Debian: apt-get install g++)"
            )
        if not Path(sysconfig.get_path("include"), "Python.h").exists():
            raise SystemExit(
                "ascend_infer is compiled and Python's headers are not here (Debian: apt-get install python3-dev)"
            )
        super().run()

    def get_ext_filename(self, fullname: str) -> str:
        """Leave the interpreter's suffix out of a shared library's name."""
        shared = {e.name.rpartition(".")[2] for e in self.extensions if isinstance(e, SharedLibrary)}
        if fullname.rpartition(".")[2] in shared:
            return str(Path(*fullname.split(".")).with_suffix(".so"))
        return super().get_ext_filename(fullname)

    def build_extension(self, extension: Extension) -> None:
        """Compile the sources side by side, then let the usual steps find the objects."""
        compiler = self.compiler
        one_by_one = compiler.compile

        def compile_all(sources: list[str], **options: object) -> list[str]:
            def compile_one(source: str) -> list[str]:
                strict = STRICT if Path(source).parts[:2] == ("_ext", "core") else []
                return one_by_one(
                    [source], **{**options, "extra_postargs": [*options["extra_postargs"], *strict]}
                )

            with ThreadPoolExecutor() as pool:
                return [name for names in pool.map(compile_one, sources) for name in names]

        compiler.compile = compile_all
        try:
            super().build_extension(extension)
        finally:
            compiler.compile = one_by_one


def build() -> list[Extension]:
    plain = [e for e in EXTENSIONS if isinstance(e, SharedLibrary)]
    cython = [e for e in EXTENSIONS if not isinstance(e, SharedLibrary)]
    if not cython:
        return plain
    import numpy
    from Cython.Build import cythonize

    for extension in cython:
        extension.include_dirs.append(numpy.get_include())
    compiled = cythonize(cython, include_path=["_ext"], build_dir="build/cython", language_level=3)
    return [*plain, *compiled]


setup(ext_modules=build(), cmdclass={"build_ext": BuildExtensions})
