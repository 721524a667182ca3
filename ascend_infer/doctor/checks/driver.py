"""Is the real driver library where the loader finds it?"""

from __future__ import annotations

from ascend_infer.doctor.driver import HAL_LIBRARY
from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_driver"]


def check_driver(examination: Examination) -> Finding:
    """Compare the driver's own folder with the loader's path."""
    driver = examination.driver
    evidence = [Evidence("install path", driver.install_path)]
    if driver.installed:
        evidence.append(Evidence("installed", driver.installed))
    evidence += [Evidence("loader finds", f"{path} ({where.origin})") for path, where in driver.on_path]
    if driver.version:
        evidence.append(Evidence("version", driver.version))
    if driver.modules:
        evidence.append(Evidence("kernel modules", ", ".join(driver.modules)))

    def finding(verdict: Verdict, summary: str, *remedy: str) -> Finding:
        return Finding("driver", verdict, summary, tuple(evidence), remedy)

    library_path = f"{driver.install_path}/driver/lib64"
    export = (
        f"export LD_LIBRARY_PATH={library_path}:{library_path}/common:{library_path}/driver:$LD_LIBRARY_PATH"
    )
    if driver.stub:
        first = driver.on_path[0][0]
        if driver.installed:
            return finding(
                examination.severity,
                f"a stub stands before the real driver on the loader's path: {first}",
                "# take devlib and stub folders out of LD_LIBRARY_PATH, or put the driver before them",
                export,
            )
        return finding(
            examination.severity,
            f"only a stub driver is on the loader's path: {first} ({driver.stub})",
            "# on a host: install the driver; in a container mount it:",
            "docker run -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro ...",
            "# then take devlib and stub folders out of LD_LIBRARY_PATH",
        )
    if not driver.on_path and not driver.installed:
        if examination.absence is Verdict.NOT_APPLICABLE:
            return finding(Verdict.NOT_APPLICABLE, "no NPU driver is installed")
        return finding(
            Verdict.PROBLEM,
            f"{HAL_LIBRARY} is nowhere: the NPU driver is not installed, or not mounted into this container",
            "# in a container:",
            "docker run -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro "
            "-v /etc/ascend_install.info:/etc/ascend_install.info:ro ...",
            "# on the host: install the driver, then",
            "npu-smi info",
        )
    if not driver.on_path:
        # A library may name the driver's folder itself (RPATH): what works needs no mending.
        return finding(
            Verdict.WARNING if examination.device_count else examination.severity,
            f"the driver is installed, but {HAL_LIBRARY} is not on the loader's path",
            examination.set_env_command() if examination.roots else export,
        )
    version = f" {driver.version}" if driver.version else ""
    return finding(Verdict.OK, f"driver{version}, {driver.on_path[0][0]}")
