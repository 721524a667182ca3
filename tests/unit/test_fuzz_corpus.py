"""Inputs that fuzzing began with or found, through each target: nothing but the documented exception comes out."""

from __future__ import annotations

from pathlib import Path

import pytest
import replay


@pytest.mark.parametrize("name", replay.TARGETS)
def test_the_corpus_of_each_target_is_read_or_refused(name: str) -> None:
    assert replay.replay(replay.target(name), replay.CORPUS / name) >= 3


def test_every_target_has_a_corpus_and_every_corpus_a_target() -> None:
    assert {"om", "config", "csv", "jsonl", "npy", "npz", "onnx"} <= set(replay.TARGETS)
    assert sorted(folder.name for folder in replay.CORPUS.iterdir()) == list(replay.TARGETS)
    assert sum(file.stat().st_size for file in replay.CORPUS.rglob("*") if file.is_file()) < 100_000


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), AssertionError()], ids=repr)
def test_what_a_target_lets_out_fails_with_the_name_of_its_input(tmp_path: Path, error: Exception) -> None:
    (tmp_path / "fine").write_bytes(b"a")
    (tmp_path / "spoilt").write_bytes(b"b")

    def raises(data: bytes) -> None:
        if data == b"b":
            raise error

    with pytest.raises(type(error)) as caught:
        replay.replay(raises, tmp_path)
    assert caught.value.__notes__ == [f"on {tmp_path / 'spoilt'}"]


@pytest.mark.parametrize("name", replay.TARGETS)
def test_a_reader_that_raises_anything_else_fails_its_target(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The targets themselves let it out: none of them catches more than the reader documents."""
    import config_target
    import om_target
    import onnx_target
    import places

    def broken(*args: object, **options: object) -> None:
        raise IndexError("a reader's own mistake")

    monkeypatch.setattr(om_target.om, "read_bytes", broken)
    monkeypatch.setattr(config_target, "parse_config", broken)
    monkeypatch.setattr(onnx_target.reader, "read", broken)
    monkeypatch.setattr(places, "open_source", broken)
    with pytest.raises(IndexError):
        replay.replay(replay.target(name), replay.CORPUS / name)
