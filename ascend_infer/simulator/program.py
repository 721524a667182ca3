"""Running a program that was built for CANN on the simulator, unmodified."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ascend_infer.simulator.library import library_path, onnxruntime_path
from ascend_infer.simulator.options import SimulatorOptions

__all__ = ["LIBRARY_NAMES", "program_environment"]

#: Names under which programs look for ACL: one library up to CANN 8.3, split ones from 8.5 on; its own for those
#: that were linked against the simulator itself.
LIBRARY_NAMES = ("libascendcl.so", "libacl_rt.so", "libacl_mdl.so", "libascendcl_sim.so")


@contextmanager
def program_environment(
    options: SimulatorOptions | None = None, base: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """Give the environment in which a program finds the simulator under CANN's library names.

    The names are links in a temporary folder that stands first on LD_LIBRARY_PATH; it goes when the block ends.

    Parameters
    ----------
    options : SimulatorOptions, optional
    base : mapping of str to str, optional
        What the environment begins with; this process's own where left out.

    Yields
    ------
    dict of str to str

    Raises
    ------
    LibraryNotFoundError, MissingDependencyError
        The simulator's library or onnxruntime's is not there.
    """
    options = options or SimulatorOptions()
    if not options.onnxruntime:
        options = replace(options, onnxruntime=str(onnxruntime_path()))
    library = library_path()
    environment = dict(os.environ if base is None else base)
    with tempfile.TemporaryDirectory(prefix="ascend_infer_sim_") as folder:
        for name in LIBRARY_NAMES:
            Path(folder, name).symlink_to(library)
        before = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = folder if not before else f"{folder}:{before}"
        environment["ACLSIM_CONFIG"] = options.to_json()
        # Of a fault plan in the environment and one in the options the latter counts.
        environment.pop("ACLSIM_FAULTS", None)
        yield environment
