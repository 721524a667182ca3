"""An output never takes the place of what it is made of, overwrite or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_models as made
import pytest
from photos import colours_directory, photo_folder

import ascend_infer as ai
from ascend_infer.errors import InvalidOptionError


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "in.csv"
    path.parent.mkdir()
    path.write_text("x\n" + '"[1, 2, 3, 4]"\n' * 3)
    return path


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_output_that_is_the_source(
    session: ai.Session, table: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    (table.parent / "link.csv").symlink_to(table)
    (table.parent / "hard.csv").hardlink_to(table)
    before = contents(table.parent)
    monkeypatch.chdir(table.parent)
    for out in (table, "in.csv", "./link.csv", "hard.csv"):
        with pytest.raises(
            InvalidOptionError, match="is a file of the source, .*in.csv, which would be lost"
        ):
            session.score(table, out=out, overwrite=overwrite)
    assert contents(table.parent) == before


def test_a_folder_that_the_source_is_in(session: ai.Session, table: Path) -> None:
    folder = table.parent
    np.save(folder / "rows.npy", np.zeros((3, 4), np.float32))
    np.savez(folder / "rows.npz", x=np.zeros((3, 4), np.float32))
    (folder.parent / "way").symlink_to(folder)
    before = contents(folder)
    for name in ("in.csv", "rows.npy", "rows.npz"):
        for source in (folder / name, folder.parent / "way" / name):
            with pytest.raises(InvalidOptionError, match=f"files of the source in it, such as .*{name}"):
                session.score(source, out=folder, form="npz", overwrite=True)
    assert contents(folder) == before


def test_parts_of_the_output_that_are_the_source(session: ai.Session, table: Path) -> None:
    parts = table.parent.parent / "y.csv.parts"
    table.parent.rename(parts)
    with pytest.raises(InvalidOptionError, match="files of the source in it"):
        session.score(parts / "in.csv", out=parts.parent / "y.csv", overwrite=True)
    assert contents(parts).keys() == {"in.csv"}


def test_a_link_to_the_source_is_not_taken_away_either(session: ai.Session, table: Path) -> None:
    folder = table.parent.parent / "links"
    folder.mkdir()
    (folder / "in.csv").symlink_to(table)
    with pytest.raises(InvalidOptionError, match="files of the source in it"):
        session.score(folder / "in.csv", out=folder, overwrite=True)
    assert (folder / "in.csv").is_symlink()


def test_the_model_is_not_replaced(session: ai.Session, table: Path) -> None:
    before = contents(Path(session.path))
    for out in (Path(session.path), Path(session.path).parent):
        with pytest.raises(InvalidOptionError, match="files of the model in it"):
            session.score(table, out=out, overwrite=True)
    assert contents(Path(session.path)) == before


def test_a_table_of_arrow(session: ai.Session, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    folder = tmp_path / "tables"
    folder.mkdir()
    for name in ("a.parquet", "b.parquet"):
        pyarrow.parquet.write_table(pa.table({"x": [[1.0, 2.0, 3.0, 4.0]]}), folder / name)
    before = contents(folder)
    with pytest.raises(InvalidOptionError, match="is a file of the source"):
        session.score(folder, out=folder / "b.parquet", cast="same_kind", overwrite=True)
    with pytest.raises(InvalidOptionError, match="files of the source in it"):
        session.score(folder, out=folder, cast="same_kind", overwrite=True)
    assert contents(folder) == before


def test_pictures(tmp_path: Path) -> None:
    folder = photo_folder(tmp_path, 4)
    (folder / "more").mkdir()
    (folder / "0003.jpg").rename(folder / "more" / "0003.jpg")
    before = contents(folder)
    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        for out in (folder, f"{folder}/", folder / "more", tmp_path):
            with pytest.raises(InvalidOptionError, match="files of the source in it"):
                session.score(folder, out=out, form="npz", overwrite=True)
        with pytest.raises(InvalidOptionError, match="is a file of the source"):
            session.score(folder, out=folder / "0001.jpg", form="csv", overwrite=True)
        assert contents(folder) == before
        # Beside the pictures there is room for what is said of them, also a second time.
        for _ in range(2):
            session.score(folder, out=folder / "labels.csv", overwrite=True)
            session.score(folder, out=folder / "scores", overwrite=True)
        assert before.items() <= contents(folder).items()
        assert (folder / "labels.csv").is_file()
        assert len(list((folder / "scores").iterdir())) == 1


@pytest.mark.parametrize(
    "name", ["config.pbtxt", "labels.txt", "1/model.onnx", "2/model.onnx", "warmup/x.bin"]
)
def test_no_file_of_the_model_is_replaced(session: ai.Session, table: Path, name: str) -> None:
    model = Path(session.path)
    (model / "warmup").mkdir()
    (model / "warmup" / "x.bin").write_bytes(b"0")
    (table.parent / "link").symlink_to(model / name)
    before = contents(model)
    for out in (model / name, table.parent / "link"):
        with pytest.raises(
            InvalidOptionError, match=f"is a file of the model, .*{name}, which would be lost"
        ):
            session.score(table, out=out, form="csv", overwrite=True)
    with pytest.raises(InvalidOptionError, match="files of the model in it"):
        session.score(table, out=(model / name).parent, form="npz", overwrite=True)
    assert contents(model) == before


def test_beside_the_model_s_files_there_is_room(session: ai.Session, table: Path) -> None:
    for _ in range(2):
        session.score(table, out=Path(session.path) / "scores.csv", overwrite=True)


def test_a_bare_model_and_its_weights(session: ai.Session, table: Path) -> None:
    model = Path(session.path) / "1" / "model.onnx"
    weights = made.write_with_weights(made.scale(2), model, "factors.bin")
    before = contents(model.parent)
    with ai.Session(model, device="cpu") as bare:
        for out in (model, weights):
            with pytest.raises(InvalidOptionError, match=f"is a file of the model, .*{out.name}"):
                bare.score(table, out=out, form="csv", overwrite=True)
    assert contents(model.parent) == before


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """Tables that name pictures beside them."""
    (tmp_path / "data").mkdir()
    folder = photo_folder(tmp_path / "data", 3)
    names = sorted(path.name for path in folder.iterdir())
    (folder.parent / "in.csv").write_text("path\n" + "".join(f"{folder.name}/{name}\n" for name in names))
    lines = [f'{{"path": "{folder}/{name}"}}\n' for name in names]
    (folder.parent / "in.jsonl").write_text("".join(lines))
    return folder


def read_picture(record: dict[str, str]) -> np.ndarray:
    with open(Path("data") / record["path"], "rb") as file:
        return np.full((3, 16, 16), len(file.read()), np.float32)


@pytest.mark.parametrize("source", ["in.csv", "in.jsonl", "iterable"])
def test_a_picture_that_a_row_names(
    tmp_path: Path, named: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.jpg").symlink_to(named / "0002.jpg")
    before = contents(named)
    items = sorted(named.iterdir()) if source == "iterable" else named.parent / source
    with ai.Session(colours_directory(tmp_path), device="cpu") as session:
        for out in (named / "0002.jpg", "link.jpg"):
            with pytest.raises(
                InvalidOptionError, match=r"is what row 2 .* names, .*0002\.jpg, which would be"
            ):
                session.score(items, out=out, form="csv", overwrite=True, part_rows=1)
        with pytest.raises(InvalidOptionError, match=r"a folder with what row 0 .* names in it, .*0000\.jpg"):
            session.score(items, out=named, form="npz", overwrite=True)
        assert contents(named) == before
        for _ in range(2):
            session.score(items, out=named / "scores.csv", overwrite=True)


def test_a_picture_that_a_function_may_have_read(
    tmp_path: Path, named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = contents(named)
    with (
        ai.Session(colours_directory(tmp_path), device="cpu") as session,
        pytest.raises(InvalidOptionError, match="is what row 1 "),
    ):
        session.score(
            named.parent / "in.csv",
            out=named / "0001.jpg",
            form="csv",
            overwrite=True,
            preprocess=read_picture,
        )
    assert contents(named) == before


def test_the_folder_of_parts_takes_nobody_s_files_away(tmp_path: Path, named: Path) -> None:
    parts = named.rename(tmp_path / "data" / "y.csv.parts")
    (tmp_path / "data" / "in.csv").write_text("path\ny.csv.parts/0001.jpg\n")
    before = contents(parts)
    with (
        ai.Session(colours_directory(tmp_path), device="cpu") as session,
        pytest.raises(
            InvalidOptionError, match=r"cleared by the run, and holds 0000\.jpg, which no run wrote"
        ),
    ):
        session.score(tmp_path / "data" / "in.csv", out=tmp_path / "data" / "y.csv")
    assert contents(parts) == before
