"""Device nodes, driver, CANN, card lists, versions, npu-smi, logs: what the machine's files tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from ascend_infer.doctor.checks import CHECKS
from ascend_infer.doctor.finding import Finding, Verdict

MakeElf = Callable[..., bytes]
CANN = "/usr/local/Ascend/cann"
DRIVER = "/usr/local/Ascend/driver"


def look(examination: Any, check: str) -> Finding:
    finding = CHECKS[check](examination)
    assert finding.check == check
    assert finding.verdict is not Verdict.PROBLEM or finding.remedy
    return finding


def evidence(finding: Finding) -> str:
    return "\n".join(f"{item.name}: {item.value}" for item in finding.evidence)


def test_an_empty_machine_has_nothing_to_mend(machine: Any) -> None:
    examination = machine.examination()
    for name in CHECKS:
        if name not in ("extension", "onnxruntime", "packages"):
            assert look(examination, name).verdict is Verdict.NOT_APPLICABLE, name


def test_an_npu_that_is_asked_for_must_be_there(machine: Any) -> None:
    examination = machine.examination(device="npu:0")
    for name in ("device_nodes", "driver", "cann", "acl_library"):
        assert look(examination, name).verdict is Verdict.PROBLEM, name


def test_cards_are_counted(machine: Any) -> None:
    machine.nodes(3)
    finding = look(machine.examination(), "device_nodes")
    assert finding.verdict is Verdict.OK
    assert "3 cards" in finding.summary
    assert machine.examination().nodes.card_ids == (0, 1, 2)


def test_a_virtual_card_and_a_chip_that_is_its_own_host_count_too(machine: Any) -> None:
    for name in ("vdavinci100", "davinci_manager", "svm0"):
        machine.write(f"/dev/{name}", mode=0o666)
    assert look(machine.examination(), "device_nodes").verdict is Verdict.OK


def test_a_driver_without_nodes_is_a_container_without_devices(machine: Any) -> None:
    machine.driver()
    finding = look(machine.examination(), "device_nodes")
    assert finding.verdict is Verdict.PROBLEM
    assert any("--device /dev/davinci0" in line for line in finding.remedy)


def test_nodes_that_only_others_may_open_name_the_group(machine: Any) -> None:
    machine.nodes(1, mode=0o660)
    gid = os.stat(machine.root / "dev/davinci0").st_gid
    machine.write("/etc/group", f"HwHiAiUser:x:{gid}:\n")
    uid = os.stat(machine.root / "dev/davinci0").st_uid
    finding = look(machine.examination(uid=uid + 1, gids=frozenset({gid + 1})), "device_nodes")
    assert finding.verdict is Verdict.PROBLEM
    assert "/dev/davinci0" in finding.summary
    assert "usermod -a -G HwHiAiUser" in finding.remedy[0]
    member = machine.examination(uid=uid + 1, gids=frozenset({gid}))
    assert look(member, "device_nodes").verdict is Verdict.OK


@pytest.mark.parametrize("gone", ["davinci0", "davinci_manager", "devmm_svm", "hisi_hdc"])
def test_a_missing_node_is_named(machine: Any, gone: str) -> None:
    machine.nodes(1)
    (machine.root / "dev" / gone).unlink()
    finding = look(machine.examination(), "device_nodes")
    assert finding.verdict is Verdict.PROBLEM
    assert f"/dev/{gone}" in finding.summary


def test_a_folder_in_place_of_a_node_is_recognised(machine: Any) -> None:
    machine.nodes(1)
    (machine.root / "dev/davinci0").unlink()
    (machine.root / "dev/davinci0").mkdir()
    finding = look(machine.examination(), "device_nodes")
    assert finding.verdict is Verdict.PROBLEM
    assert "folder" in finding.summary


def test_nodes_without_a_driver(machine: Any) -> None:
    machine.nodes()
    finding = look(machine.examination(), "driver")
    assert finding.verdict is Verdict.PROBLEM
    assert "libascend_hal.so" in finding.summary


def test_a_driver_elsewhere_is_found_through_its_install_file(machine: Any, make_elf: MakeElf) -> None:
    machine.write("/etc/ascend_install.info", "UserGroup=npu\nDriver_Install_Path_Param=/opt/hw\n")
    machine.write("/opt/hw/driver/lib64/driver/libascend_hal.so", make_elf())
    machine.write("/opt/hw/driver/version.info", "Version=25.2.0\n")
    machine.write("/proc/modules", "drv_davinci 1 0 - Live\nascend_x 1 0 - Live\next4 1 0 - Live\n")
    driver = machine.examination().driver
    assert (driver.version, driver.user_group, driver.modules) == (
        "25.2.0",
        "npu",
        ("ascend_x", "drv_davinci"),
    )
    finding = look(machine.examination(), "driver")
    assert finding.verdict is Verdict.PROBLEM
    assert "not on the loader's path" in finding.summary
    machine.add_to_path("/opt/hw/driver/lib64/driver")
    assert look(machine.examination(), "driver").verdict is Verdict.OK


def test_a_stub_driver_first_on_the_path(machine: Any, make_elf: MakeElf) -> None:
    machine.driver()
    machine.write(f"{CANN}/devlib/libascend_hal.so", make_elf())
    machine.variables["LD_LIBRARY_PATH"] += f":{CANN}/devlib"
    assert look(machine.examination(), "driver").verdict is Verdict.OK
    machine.add_to_path(f"{CANN}/devlib")
    finding = look(machine.examination(), "driver")
    assert finding.verdict is Verdict.PROBLEM
    assert f"{CANN}/devlib/libascend_hal.so" in finding.summary


def test_only_a_stub_driver(machine: Any, make_elf: MakeElf) -> None:
    machine.write(f"{CANN}/devlib/libascend_hal.so", make_elf())
    machine.add_to_path(f"{CANN}/devlib")
    assert look(machine.examination(), "driver").verdict is Verdict.WARNING
    machine.nodes()
    finding = look(machine.examination(), "driver")
    assert finding.verdict is Verdict.PROBLEM
    assert "only a stub" in finding.summary


def test_cann_as_its_script_sets_it_is_well(machine: Any) -> None:
    machine.nodes()
    machine.driver()
    machine.cann()
    machine.use_cann()
    finding = look(machine.examination(), "cann")
    assert finding.verdict is Verdict.OK
    assert "8.0.0" in finding.summary


@pytest.mark.parametrize("has_npu", [True, False])
def test_cann_whose_script_was_not_sourced(machine: Any, has_npu: bool) -> None:
    machine.cann()
    if has_npu:
        machine.nodes()
    finding = look(machine.examination(), "cann")
    assert finding.verdict is (Verdict.PROBLEM if has_npu else Verdict.WARNING)
    assert "set_env.sh was not sourced" in finding.summary
    assert finding.remedy[-1].startswith(f"source {CANN}/set_env.sh")


def test_the_script_of_older_cann_is_one_folder_up(machine: Any) -> None:
    machine.cann("/usr/local/Ascend/ascend-toolkit/latest")
    (machine.root / "usr/local/Ascend/ascend-toolkit/latest/set_env.sh").unlink()
    machine.write("/usr/local/Ascend/ascend-toolkit/set_env.sh")
    finding = look(machine.examination(), "cann")
    assert finding.remedy[-1].startswith("source /usr/local/Ascend/ascend-toolkit/set_env.sh")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ASCEND_HOME_PATH", "/opt/none", "/opt/none, which is not there"),
        ("ASCEND_OPP_PATH", "/opt/none", "148049"),
        ("ASCEND_OPP_PATH", "", "148049"),
        ("LD_LIBRARY_PATH", "/usr/local/Ascend/driver/lib64/driver", "LD_LIBRARY_PATH lacks"),
    ],
)
def test_each_variable_that_is_wrong_is_named(machine: Any, name: str, value: str, words: str) -> None:
    machine.nodes()
    machine.driver()
    machine.cann()
    machine.use_cann()
    machine.variables[name] = value
    finding = look(machine.examination(), "cann")
    assert finding.verdict is Verdict.PROBLEM
    assert words in finding.summary + evidence(finding)


def test_plugin_folders_must_be_on_the_path(machine: Any) -> None:
    machine.nodes()
    machine.cann()
    machine.use_cann()
    machine.write(f"{CANN}/lib64/plugin/opskernel/libx.so")
    assert "plugin/opskernel" in look(machine.examination(), "cann").summary
    machine.add_to_path(f"{CANN}/lib64/plugin/opskernel")
    assert look(machine.examination(), "cann").verdict is Verdict.OK


def test_two_versions_on_the_loaders_path(machine: Any) -> None:
    machine.nodes()
    machine.cann()
    machine.cann("/opt/Ascend/cann", "8.5.0")
    machine.use_cann()
    assert look(machine.examination(), "cann").verdict is Verdict.OK
    machine.add_to_path("/opt/Ascend/cann/lib64")
    finding = look(machine.examination(), "cann")
    assert finding.verdict is Verdict.PROBLEM
    assert "8.0.0" in finding.summary
    assert "8.5.0" in finding.summary


def test_operators_of_another_version(machine: Any) -> None:
    machine.nodes()
    machine.cann()
    machine.cann("/opt/Ascend/cann", "8.5.0")
    machine.use_cann()
    machine.variables["ASCEND_OPP_PATH"] = "/opt/Ascend/cann/opp"
    finding = look(machine.examination(), "cann")
    assert finding.verdict is Verdict.PROBLEM
    assert "ASCEND_OPP_PATH is 8.5.0" in finding.summary


def test_the_same_version_under_two_names_is_no_mixture(machine: Any) -> None:
    machine.nodes()
    machine.cann("/usr/local/Ascend/ascend-toolkit/8.0.0")
    machine.cann("/usr/local/Ascend/ascend-toolkit/latest")
    machine.use_cann("/usr/local/Ascend/ascend-toolkit/latest")
    machine.add_to_path("/usr/local/Ascend/ascend-toolkit/8.0.0/lib64")
    assert look(machine.examination(), "cann").verdict is Verdict.OK


def test_a_malformed_list_of_cards(machine: Any) -> None:
    machine.nodes(2)
    machine.variables["ASCEND_RT_VISIBLE_DEVICES"] = "1,0"
    finding = look(machine.examination(), "visible_devices")
    assert finding.verdict is Verdict.PROBLEM
    assert "only 1 would be used" in finding.summary
    machine.variables["ASCEND_RT_VISIBLE_DEVICES"] = "0,1"
    assert look(machine.examination(), "visible_devices").verdict is Verdict.OK
    machine.variables["ASCEND_RT_VISIBLE_DEVICES"] = "2"
    assert "207004" in look(machine.examination(), "visible_devices").summary


def test_versions_are_collected(machine: Any) -> None:
    machine.driver("24.1.rc3")
    machine.cann(version="8.0.RC3", files={})
    machine.write("/usr/local/Ascend/firmware/version.info", "Version=7.5.0.1\n")
    finding = look(machine.examination(), "versions")
    assert finding.verdict is Verdict.OK
    for version in ("8.0.RC3", "24.1.rc3", "7.5.0.1"):
        assert version in finding.summary


TABLE = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.rc3                 Version: 24.1.rc3                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | {health:14}| 96.5        38                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          {used:5} / 65536       |
+===========================+===============+====================================================+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 4242          | python3                  | 1024                    |
+===========================+===============+====================================================+
"""


@pytest.mark.parametrize(
    ("health", "used", "verdict", "words"),
    [
        ("OK", 3161, Verdict.OK, "1 healthy chip, 1 other process"),
        ("Alarm", 3161, Verdict.PROBLEM, "NPU 0 (910B3) is Alarm"),
        ("OK", 65000, Verdict.WARNING, "python3 (pid 4242)"),
    ],
)
def test_npu_smi_is_read(machine: Any, health: str, used: int, verdict: Verdict, words: str) -> None:
    machine.nodes()
    table = TABLE.format(health=health, used=used)
    machine.write("/usr/local/sbin/npu-smi", f"#!/bin/sh\ncat <<'END'\n{table}END\n", mode=0o755)
    finding = look(machine.examination(), "npu_smi")
    assert finding.verdict is verdict
    assert words in finding.summary


@pytest.mark.parametrize(
    ("script", "verdict", "words"),
    [
        ("#!/bin/sh\necho dcmi model initialized failed >&2\nexit 255\n", Verdict.PROBLEM, "exit code 255"),
        ("#!/bin/sh\nkill -SEGV $$\n", Verdict.PROBLEM, "SIGSEGV"),
        ("#!/bin/sh\necho something new\n", Verdict.WARNING, "another form"),
        ("not a program", Verdict.PROBLEM, "could not be started"),
    ],
)
def test_npu_smi_that_fails(machine: Any, script: str, verdict: Verdict, words: str) -> None:
    machine.nodes()
    machine.write("/usr/local/bin/npu-smi", script, mode=0o755)
    finding = look(machine.examination(), "npu_smi")
    assert finding.verdict is verdict
    assert words in finding.summary


def test_the_newest_log_is_shown(machine: Any) -> None:
    old = machine.write("/root/ascend/log/debug/plog/plog-1_2024.log", "[ERROR] RUNTIME old\n")
    machine.write("/root/ascend/log/run/plog/plog-2_2025.log", "[INFO] fine\n[ERROR] RUNTIME(2) new\n")
    os.utime(old, (1, 1))
    finding = look(machine.examination(), "device_log")
    assert finding.verdict is Verdict.OK
    assert "RUNTIME(2) new" in evidence(finding)
    machine.variables["ASCEND_PROCESS_LOG_PATH"] = "/logs"
    machine.write("/logs/debug/plog/plog-3_1.log", b"[INFO] \xff\xfe\n" * 20000)
    assert "no errors" in look(machine.examination(), "device_log").summary


def test_a_container_runtimes_variable_alone_is_a_hint(machine: Any) -> None:
    machine.variables["ASCEND_VISIBLE_DEVICES"] = "0"
    finding = look(machine.examination(), "device_nodes")
    assert finding.verdict is Verdict.WARNING
    assert "ASCEND_VISIBLE_DEVICES" in finding.summary


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_who_wants_no_npu_gets_no_problem_from_one(machine: Any, make_elf: MakeElf, device: str) -> None:
    machine.driver()
    machine.cann()
    machine.write(f"{CANN}/devlib/libascend_hal.so", make_elf())
    machine.add_to_path(f"{CANN}/devlib")
    machine.write("/dev/davinci0", mode=0)
    machine.variables["ASCEND_RT_VISIBLE_DEVICES"] = "x"
    machine.write("/usr/local/sbin/npu-smi", "#!/bin/sh\nexit 1\n", mode=0o755)
    examination = machine.examination(device=device, uid=1, gids=frozenset())
    for check in ("device_nodes", "driver", "cann", "visible_devices", "acl_library", "npu_smi", "runtime"):
        assert CHECKS[check](examination).verdict is not Verdict.PROBLEM, check
