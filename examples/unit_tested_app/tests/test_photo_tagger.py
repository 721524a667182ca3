"""The tagger's own tests. No NPU is needed: the CPU where answers matter, a simulated card where a card does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from photo_tagger import BusyError, PhotoTagger, TaggerError, Tags, main

SEEN = [("red",), ("green",), ("blue",), ("dark",), ()]


@pytest.fixture(autouse=True)
def clean(assert_no_leaks):
    """No test may leave a session, a thread or device memory."""


@pytest.fixture
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")


def test_colours_on_the_cpu(on_the_cpu, model: Path, photos: list[Path]) -> None:
    with PhotoTagger(model) as tagger:
        assert [tags.names for tags in tagger.tag(photos)] == SEEN
        assert tagger.tag([]) == []


def test_the_card_sees_what_the_cpu_sees(simulated_npu, model: Path, photos: list[Path]) -> None:
    with PhotoTagger(model) as tagger:
        assert [tags.names for tags in tagger.tag(photos)] == SEEN
        # Five rows ran in the size compiled for eight.
        assert simulated_npu.stats().devices[0].executions == 1
        assert [tags.names for tags in tagger.tag(photos * 2)] == SEEN * 2
        assert simulated_npu.stats().devices[0].executions == 3


def test_an_unreadable_photo_does_not_stop_the_others(on_the_cpu, model: Path, photos: list[Path]) -> None:
    bad = photos[1].with_name("bad.png")
    bad.write_bytes(b"not a picture")
    with PhotoTagger(model) as tagger:
        first, broken, last = tagger.tag([photos[0], bad, photos[2]])
    assert (first.names, last.names) == (("red",), ("blue",))
    assert broken.names == ()
    assert "bad.png" in broken.problem


@pytest.mark.simulated_npu(faults="aclmdlExecuteAsync@1=async:507015")
def test_a_fault_of_the_card_is_tried_again(model: Path, photos: list[Path]) -> None:
    with PhotoTagger(model) as tagger:
        assert [tags.names for tags in tagger.tag(photos)] == SEEN


@pytest.mark.simulated_npu(faults="device:0@lost after 3600s", virtual_time=True)
def test_a_card_that_is_gone_is_said(simulated_npu, model: Path, photos: list[Path]) -> None:
    with PhotoTagger(model) as tagger:
        tagger.tag(photos)
        simulated_npu.advance(2 * 3600 * 10**9)
        with pytest.raises(TaggerError, match="the card is gone"):
            tagger.tag(photos)


# As it is when other processes hold the card's memory.
@pytest.mark.simulated_npu(faults="aclrtMalloc@*=207001")
def test_a_card_without_room_is_said(model: Path) -> None:
    with pytest.raises(TaggerError, match="no room for the tagger"):
        PhotoTagger(model)


@pytest.mark.simulated_npu(time={"compute_fixed_us": 200_000})
def test_a_slow_card_is_busy(model: Path, photos: list[Path]) -> None:
    with PhotoTagger(model, patience=0.01) as tagger, pytest.raises(BusyError, match="too much"):
        tagger.tag(photos)


def test_other_sizes_compiled_for_the_card(simulated_npu, session_from_onnx, model: Path) -> None:
    session = session_from_onnx(model / "1" / "model.onnx", gears=(2, 6))
    assert session.infer({"photo": np.zeros((5, 3, 32, 32), np.float32)})["scores"].shape == (5, 4)
    assert "5 -> 6" in str(session.explain(photo=(5, 3, 32, 32)))


def test_the_command(on_the_cpu, model: Path, photos: list[Path], capsys) -> None:
    assert main([str(model), *map(str, photos)]) == 0
    assert capsys.readouterr().out.splitlines()[::4] == ["red.png: red", "grey.png: nothing seen"]
    assert main([str(model.parent / "none"), "x.png"]) == 1
    assert "error: " in capsys.readouterr().err
    assert Tags(photos[0]).problem == ""
