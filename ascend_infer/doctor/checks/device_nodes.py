"""Is a card's device node here, and may this user open it?"""

from __future__ import annotations

from ascend_infer.doctor.examination import Examination
from ascend_infer.doctor.finding import Evidence, Finding, Verdict

__all__ = ["check_device_nodes"]

_CONTAINER = (
    "docker run --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm "
    "--device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro "
    "-v /usr/local/dcmi:/usr/local/dcmi:ro -v /usr/local/sbin/npu-smi:/usr/local/sbin/npu-smi:ro "
    "-v /etc/ascend_install.info:/etc/ascend_install.info:ro ..."
)


def check_device_nodes(examination: Examination) -> Finding:
    """Look for the nodes of cards and those that all cards share."""
    nodes, driver = examination.nodes, examination.driver
    environment = examination.environment
    evidence = [
        Evidence(node.path, f"{node.mode} group {node.group}") for node in (*nodes.cards, *nodes.shared)
    ]
    if not nodes.any:
        evidence.append(Evidence("/dev", "no davinciN, vdavinciN, davinci_manager"))
        if driver.modules:
            evidence.append(Evidence("kernel modules", ", ".join(driver.modules)))
        passed = environment.variables.get("ASCEND_VISIBLE_DEVICES")
        if passed:
            evidence.append(Evidence("ASCEND_VISIBLE_DEVICES", passed))
        if not (examination.npu_expected or passed):
            return Finding("device_nodes", Verdict.NOT_APPLICABLE, "no NPU here", tuple(evidence))
        sign = "one is asked for"
        if not examination.npu_asked_for:
            sign = "the driver is here" if driver.any else "ASCEND_VISIBLE_DEVICES is set"
        return Finding(
            "device_nodes",
            examination.severity,
            f"no NPU: /dev has no davinci nodes, though {sign}",
            tuple(evidence),
            (
                "# in a container: pass the devices and the driver in",
                _CONTAINER,
                "# on the host: are the kernel modules loaded, is the card seen?",
                "lsmod | grep -E 'drv_|asdrv|ascend'; npu-smi info",
            ),
        )
    folders = [node.path for node in (*nodes.cards, *nodes.shared) if node.is_folder]
    if folders:
        return Finding(
            "device_nodes",
            examination.severity,
            f"{', '.join(folders)}: a folder stands in place of the device node",
            tuple(evidence),
            (
                "# a bind mount (-v) of a node that the host lacks makes a folder; pass nodes with --device",
                _CONTAINER,
            ),
        )
    if nodes.missing:
        return Finding(
            "device_nodes",
            examination.severity,
            f"device nodes are missing: {', '.join(nodes.missing)}",
            tuple(evidence),
            ("# in a container: pass them in too", _CONTAINER),
        )
    closed = [node for node in (*nodes.cards, *nodes.shared) if not node.accessible]
    if closed:
        group = next((node.group for node in closed if node.group not in ("root", "0")), driver.user_group)
        evidence.append(Evidence("user", f"uid {environment.uid}, gids {sorted(environment.gids)}"))
        return Finding(
            "device_nodes",
            examination.severity,
            f"this user may not open {', '.join(node.path for node in closed)}",
            tuple(evidence),
            (
                f"sudo usermod -a -G {group} $USER   # then log in again",
                f"# in a container: docker run --group-add $(getent group {group} | cut -d: -f3) ...",
            ),
        )
    count = len(nodes.cards)
    return Finding(
        "device_nodes",
        Verdict.OK,
        f"{count} card{'s' if count > 1 else ''}: {', '.join(node.path for node in nodes.cards)}",
        tuple(evidence),
    )
