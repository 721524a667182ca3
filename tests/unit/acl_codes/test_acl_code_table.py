"""The table of codes: complete, well formed, and classified as the headers' numbering says."""

from __future__ import annotations

import importlib.util
import pickle
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_infer import errors
from ascend_infer.acl_codes import acl_codes, code_of, device_fault, device_lost, exception_for, model_unfit

ROOT = Path(__file__).parents[3]


def test_every_code_has_all_that_a_reader_needs() -> None:
    names = [code.name for code in acl_codes().values()]
    assert len(names) == len(set(names)) > 240
    for number, code in acl_codes().items():
        assert code.number == number
        assert re.fullmatch(r"ACL_ERROR_[A-Z0-9_]+", code.name)
        for text in (code.cause, code.remedy):
            assert text
            assert text == text.strip()
            assert not text.endswith(".")
        assert code.kind != "unknown"
        assert code.module != "unknown"
        assert code.marks <= {
            *("retryable", "fault", "lost", "model", "chip", "timeout"),
            *("device-memory", "host-memory"),
        }


def test_no_number_is_listed_twice() -> None:
    from ascend_infer.acl_codes import table

    numbers = [code.number for text in table._LISTS for code in table._read(text)]
    assert len(numbers) == len(set(numbers)) == len(acl_codes())


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        acl_codes()[1] = code_of(100000)  # type: ignore[index]


def test_what_the_simulator_returns_is_known() -> None:
    text = (ROOT / "_ext" / "sim" / "codes.hpp").read_text()
    numbers = [int(number) for number in re.findall(r"= (\d{6}),", text)]
    assert len(numbers) > 40
    assert [number for number in numbers if number not in acl_codes()] == []


@pytest.mark.parametrize(
    ("code", "cls", "module"),
    [
        (100000, errors.AclUsageError, "ACL"),
        (148049, errors.AclUsageError, "ACL"),
        (107002, errors.AclUsageError, "runtime"),
        (145013, errors.AclUsageError, "GE"),
        (200000, errors.HostOutOfMemoryError, "ACL"),
        (200001, errors.AclResourceError, "ACL"),
        (207001, errors.DeviceOutOfMemoryError, "runtime"),
        (207018, errors.DeviceOutOfMemoryError, "runtime"),
        (245000, errors.DeviceOutOfMemoryError, "GE"),
        (107020, errors.AclTimeoutError, "runtime"),
        (507014, errors.AclTimeoutError, "runtime"),
        (507046, errors.AclTimeoutError, "runtime"),
        (545601, errors.AclTimeoutError, "GE"),
        (345102, errors.AclError, "GE"),
        (500002, errors.AclInternalError, "ACL"),
        (507015, errors.AclInternalError, "runtime"),
        (507010, errors.DeviceLostError, "runtime"),
        (507901, errors.DeviceLostError, "runtime"),
        (545002, errors.AclInternalError, "GE"),
        # Not in any header: told by their digits.
        (107999, errors.AclUsageError, "runtime"),
        (248123, errors.AclResourceError, "ACL"),
        (545999, errors.AclInternalError, "GE"),
        (999999, errors.AclError, "unknown"),
        (-1, errors.AclError, "unknown"),
        (561003, errors.AclInternalError, "unknown"),
    ],
)
def test_classes(code: int, cls: type[errors.AclError], module: str) -> None:
    error = exception_for(code, "aclrtThis", device_id=3)
    assert type(error) is cls
    assert (error.code, error.module, error.function, error.device_id) == (code, module, "aclrtThis", 3)
    assert error.code_name == code_of(code).name
    assert str(code) in str(error)
    assert "aclrtThis" in str(error)
    assert code_of(code).cause in str(error)
    assert code_of(code).remedy in str(error)


def test_success_has_no_exception() -> None:
    with pytest.raises(ValueError, match="success"):
        exception_for(0, "aclInit")


def test_pinned_memory_is_the_hosts() -> None:
    error = exception_for(207001, "aclrtMallocHost", needed=1 << 40)
    assert type(error) is errors.HostOutOfMemoryError
    assert "pinned" in str(error)
    assert "card" not in str(error)


def test_out_of_memory_says_who_holds_it() -> None:
    error = exception_for(
        207001, "aclrtMalloc", needed=100, free=30, total=64000, holders=[("net weights", 40), ("pool", 9)]
    )
    assert isinstance(error, errors.DeviceOutOfMemoryError)
    assert isinstance(error, MemoryError)
    assert (error.needed, error.free, error.total) == (100, 30, 64000)
    assert error.holders == (("net weights", 40), ("pool", 9))
    for word in ("100", "30", "64,000", "net weights: 40", "max_batch_size"):
        assert word in str(error)
    assert error.retryable


def test_faults_and_losses() -> None:
    assert all(map(device_fault, (507011, 507014, 507015, 507016, 507035, 507053, 507054)))
    assert device_lost(507010)
    assert device_lost(507901)
    assert device_fault(507010)
    # What SynchronizeStream returns without meaning that the device is broken.
    assert not any(map(device_fault, (507005, 507023, 207003, 207016, 207017, 507046, 207001, 107002, 0)))
    assert not any(map(device_lost, (507011, 507015, 0)))
    assert all(map(model_unfit, (100012, 100013, 145006, 545002, 545005)))
    assert not any(map(model_unfit, (145013, 207001, 507015)))


@given(
    st.integers(-(2**31), 2**31 - 1).filter(bool) | st.sampled_from(sorted(acl_codes())),
    st.none() | st.text(max_size=20),
    st.text(max_size=300),
)
def test_any_code_makes_an_error_that_survives_pickling(code: int, function: str | None, detail: str) -> None:
    error = exception_for(code, function, detail=detail)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_acl_errors", ROOT / "docs" / "gen_acl_errors.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = _generator()
    assert generator.main(["--check"]) == 0
    page = tmp_path / "acl_errors.md"
    shutil.copy(generator.PAGE, page)
    generator.PAGE = page
    page.write_text(page.read_text().replace("| 100000 |", "| 100009 |", 1))
    assert generator.main(["--check"]) == 1
    assert "not up to date" in capsys.readouterr().err
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
