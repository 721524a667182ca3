"""Every call of ACL that loading, running and closing make, failing: the right exception, and nothing left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import acl_models as acl
import numpy as np
import onnx_models as made
import pytest
from child import run_child

from ascend_infer.errors import AclError, AscendInferError, ModelError
from ascend_infer.simulator import Simulator, SimulatorOptions

#: Their failure is an answer, not an error: another user was first, a thread has no context yet, no AIPP.
TOLERATED = {"aclrtGetCurrentContext", "aclmdlGetAippType", "aclGetRecentErrMsg", "aclrtGetSocName"}
#: Pinned memory that was not given back stays in the process: a process of its own tries that.
APART = {"aclrtFreeHost"}
#: These fail for a description's sake only, and something else is asked then.
FALLS_BACK = {"aclrtGetMemInfo", "aclmdlGetDynamicBatch", "aclmdlGetDynamicHW"}
#: They answer no code: a null pointer or a size of nothing is their failure, which a plan of codes cannot make.
NO_CODE = {
    *("aclDataTypeSize", "aclmdlGetNumInputs", "aclmdlGetNumOutputs", "aclmdlGetInputSizeByIndex"),
    *("aclmdlGetOutputSizeByIndex", "aclmdlGetInputNameByIndex", "aclmdlGetOutputNameByIndex"),
    *("aclmdlGetInputFormat", "aclmdlGetOutputFormat", "aclmdlGetInputDataType", "aclmdlGetOutputDataType"),
    *("aclGetDataBufferAddr", "aclGetDataBufferSizeV2", "aclGetTensorDescNumDims", "aclDestroyTensorDesc"),
    *("aclCreateDataBuffer", "aclmdlCreateDataset", "aclmdlCreateDesc", "aclCreateTensorDesc"),
    "aclmdlGetDatasetTensorDesc",
}
#: What gives things back. When it fails the thing itself is the runtime's to lose; all the rest must be given back.
GIVES_BACK = {
    *(
        "aclrtFree",
        "aclrtFreeHost",
        "aclrtResetDevice",
        "aclFinalizeReference",
        "aclmdlUnload",
        "aclmdlDestroyDesc",
    ),
    *("aclmdlDestroyDataset", "aclDestroyDataBuffer", "aclrtDestroyEvent", "aclrtDestroyStream"),
}
KINDS = ("gears", "dynamic")


def models(folder: Path) -> dict[str, Path]:
    return {
        "gears": acl.compiled(folder, made.add_sub(), "gears", gears=acl.batch_gears(1, 4)),
        "dynamic": acl.compiled(folder, made.add_sub(), "dynamic", dynamic=True),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(SimulatorOptions()) as running:
        yield running


def one_life(path: Path, simulator: Simulator) -> None:
    """Load, run in every gear, close; the first failure after everything was tried."""
    model = acl.load(path, simulator)
    try:
        [run] = model.executables()
        for rows in (1, 3, 4, 2):
            given = np.ones((rows, 4), np.float32)
            total, difference = run.execute({"A": given, "B": given}, ["S", "D"])
            assert total.shape == difference.shape == (rows, 4)
            assert np.all(total == 2)
            assert not difference.any()
            del total, difference
    finally:
        model.close()


def called(path: Path, simulator: Simulator) -> dict[str, int]:
    before = simulator.stats().calls
    one_life(path, simulator)
    after = simulator.stats().calls
    return {name: count - before.get(name, 0) for name, count in after.items() if count > before.get(name, 0)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_life_without_a_fault_leaves_nothing(
    files: dict[str, Path], simulator: Simulator, kind: str
) -> None:
    for _ in range(3):
        one_life(files[kind], simulator)
        acl.nothing_left(simulator)


@pytest.mark.parametrize("kind", KINDS)
def test_each_call_failing_at_its_first_second_and_last_use(files: dict[str, Path], kind: str) -> None:
    path = files[kind]
    with Simulator() as simulator:
        uses = called(path, simulator)
    tried = 0
    for name, count in sorted(uses.items()):
        if name in NO_CODE | TOLERATED | APART:
            continue
        for nth in sorted({1, min(2, count), count}):
            with Simulator(SimulatorOptions(faults=f"{name}@{nth}=507899")) as simulator:
                caught: AscendInferError | None = None
                try:
                    one_life(path, simulator)
                except AscendInferError as error:
                    caught = error
                what = f"{name} at its use {nth} of {count}"
                if name not in FALLS_BACK and name != "aclrtFree":
                    assert isinstance(caught, AclError | ModelError), what
                    source = caught if isinstance(caught, AclError) else caught.__cause__
                    assert isinstance(source, AclError), what
                    assert (source.code, source.function) == (507899, name), what
                # A pool that cannot free has nobody to tell: its memory goes with the device.
                check_given_back(simulator, name, what)
                tried += 1
                # The next life is not harmed.
                if name not in GIVES_BACK:
                    simulator.set_faults("")
                    one_life(path, simulator)
                    check_given_back(simulator, name, what)
    assert tried > 40


def test_pinned_memory_that_cannot_be_given_back(files: dict[str, Path]) -> None:
    told = run_child(
        """
        import sys
        from pathlib import Path
        import acl_models as acl
        import numpy as np
        from ascend_infer.simulator import Simulator, SimulatorOptions

        with Simulator(SimulatorOptions(faults="aclrtFreeHost@1=207000")) as simulator:
            for _ in range(2):
                model = acl.load(Path(sys.argv[1]), simulator)
                given = np.ones((4, 4), np.float32)
                [total] = model.executables()[0].execute({"A": given, "B": given}, ["S"])
                assert np.all(total == 2)
                del total
                model.close()
                assert simulator.live_handles() == []
            print(simulator.stats().pinned_blocks)
        """,
        files["gears"],
    )
    assert told.split() == ["1"]


def check_given_back(simulator: Simulator, name: str, what: str) -> None:
    left = simulator.live_handles()
    stats = simulator.stats()
    if name in GIVES_BACK:
        # The one thing whose end failed, and what depends on it.
        assert len(left) <= 3, (what, left)
        return
    assert left == [], what
    assert stats.violations == {}, what
    assert (stats.models, stats.pinned_blocks, stats.copies_in_flight, stats.initialized) == (0, 0, 0, 0), (
        what
    )
    assert [(d.sets, d.allocations) for d in stats.devices if d.sets or d.allocations] == [], what


@pytest.mark.parametrize("function", ["aclrtMemcpyAsync", "aclmdlExecuteAsync"])
@pytest.mark.parametrize("code", [507015, 507901, 507023])
def test_asynchronous_failures(files: dict[str, Path], function: str, code: int) -> None:
    for nth in (1, 2, 3, 4):
        with Simulator(SimulatorOptions(faults=f"{function}@{nth}=async:{code}")) as simulator:
            with pytest.raises((AclError, ModelError)) as caught:
                one_life(files["gears"], simulator)
            source = caught.value if isinstance(caught.value, AclError) else caught.value.__cause__
            assert isinstance(source, AclError)
            assert source.code == code
            acl.nothing_left(simulator)


@pytest.mark.parametrize("kind", KINDS)
def test_another_model_lives_through_each_failing_call(files: dict[str, Path], kind: str) -> None:
    """The same beside a model on the same device; for ``gears`` of the same file: weights and pools are shared."""
    path = files[kind]
    with Simulator() as simulator:
        steady = acl.load(files["gears"], simulator)
        uses = called(path, simulator)
        steady.close()
    tried = 0
    for name, count in sorted(uses.items()):
        if name in NO_CODE | TOLERATED | APART:
            continue
        for nth in sorted({1, min(2, count), count}):
            what = f"{name} at its use {nth} of {count}"
            with Simulator() as simulator:
                steady = acl.load(files["gears"], simulator)
                before = simulator.stats().calls.get(name, 0)
                simulator.set_faults(f"{name}@{before + nth}=507899")
                failed = False
                try:
                    one_life(path, simulator)
                except AscendInferError:
                    failed = True
                assert simulator.stats().calls.get(name, 0) >= before + nth, what
                if name not in FALLS_BACK and name != "aclrtFree":
                    assert failed, what
                simulator.set_faults("")
                for rows in (1, 4, 3):
                    given = np.full((rows, 4), rows, np.float32)
                    total, difference = steady.executables()[0].execute({"A": given, "B": given}, ["S", "D"])
                    assert np.all(total == 2 * rows), what
                    assert not difference.any(), what
                    del total, difference
                if name not in GIVES_BACK:
                    one_life(path, simulator)
                steady.close()
                check_given_back(simulator, name, what)
                tried += 1
    assert tried > 30


def test_other_sessions_are_unharmed(files: dict[str, Path]) -> None:
    with Simulator() as simulator:
        steady, broken = acl.load(files["gears"], simulator), acl.load(files["gears"], simulator)
        given = np.ones((4, 4), np.float32)
        for plan in (
            "aclmdlExecuteAsync@1=async:507015",
            "aclmdlExecuteAsync@2=145000",
            "aclrtMemcpyAsync@9=507013",
        ):
            calls = simulator.stats().calls
            function, _, rest = plan.partition("@")
            number, _, code = rest.partition("=")
            nth = calls.get(function, 0) + 1
            simulator.set_faults(f"{function}@{nth}={code}")
            with pytest.raises((AclError, ModelError)):
                broken.executables()[0].execute({"A": given, "B": given}, ["S"])
            [total] = steady.executables()[0].execute({"A": given, "B": given}, ["S"])
            assert np.all(total == 2)
            [total] = broken.executables()[0].execute({"A": given, "B": given}, ["S"])
            assert np.all(total == 2), number
            del total
        steady.close()
        broken.close()
        acl.nothing_left(simulator)
