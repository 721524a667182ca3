"""Words of the command line as a model's inputs; no model runs here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fed_words import PICTURE, X, feed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from ascend_infer.cli.feeding.assignment import assign_inputs
from ascend_infer.errors import AscendInferError, ImageError, InvalidInputError, InvalidOptionError
from ascend_infer.types import DataType, TensorSpec


class TestNames:
    def test_a_name_may_hold_an_equals_sign(self) -> None:
        tensors = [TensorSpec(name, DataType.FP32, (1,)) for name in ("a", "a=b", "c")]
        found = assign_inputs(["a=1", "a=b=2", "c=3"], tensors, "m")
        assert {name: values[0].text for name, values in found.items()} == {"a": "1", "a=b": "2", "c": "3"}

    def test_one_input_needs_no_name(self) -> None:
        assert feed("[[1, 2, 3, 4]]")["x"].tolist() == [[1, 2, 3, 4]]

    def test_several_inputs_do(self) -> None:
        with pytest.raises(InvalidInputError, match=r"has 2 inputs: got 'v.npy' without a name.*'x', 'y'"):
            feed("v.npy", X, TensorSpec("y", DataType.FP32, (1,)))

    def test_an_unknown_name_is_told_the_nearest(self) -> None:
        with pytest.raises(InvalidInputError, match=r"no input 'imags' \(did you mean 'images'\?\)"):
            feed("imags=x.npy", PICTURE)

    def test_a_path_with_an_equals_sign_is_a_path(self, tmp_path: Path) -> None:
        file = tmp_path / "lr=3.npy"
        np.save(file, np.zeros((1, 4), np.float32))
        assert feed(str(file))["x"].shape == (1, 4)

    def test_twice_is_refused_but_for_pictures(self) -> None:
        with pytest.raises(InvalidInputError, match="given 2 times"):
            feed(["x=1", "x=2"])


class TestNumpyFiles:
    def test_npy(self, tmp_path: Path) -> None:
        array = np.arange(8, dtype=np.float32).reshape(2, 4)
        np.save(tmp_path / "a.npy", array)
        assert np.array_equal(feed(f"x={tmp_path / 'a.npy'}")["x"], array)

    def test_an_npz_member_by_name_by_namesake_and_alone(self, tmp_path: Path) -> None:
        one, two = np.ones((1, 4), np.float32), np.zeros((1, 4), np.float32)
        np.savez(tmp_path / "both.npz", x=one, other=two)
        np.savez(tmp_path / "alone.npz", anything=two)
        assert feed(f"x={tmp_path}/both.npz")["x"].all()
        assert not feed(f"x={tmp_path}/both.npz:other")["x"].any()
        assert not feed(f"x={tmp_path}/alone.npz")["x"].any()
        with pytest.raises(InvalidInputError, match=r"no member 'third'; it holds 'x', 'other'"):
            feed(f"x={tmp_path}/both.npz:third")

    def test_one_npz_feeds_all_inputs(self, tmp_path: Path) -> None:
        tensors = [TensorSpec(name, DataType.INT64, (2,)) for name in "ab"]
        np.savez(tmp_path / "all.npz", a=np.array([1, 2]), b=np.array([3, 4]))
        found = feed(str(tmp_path / "all.npz"), *tensors)
        assert (found["a"].tolist(), found["b"].tolist()) == ([1, 2], [3, 4])
        np.savez(tmp_path / "none.npz", c=np.array([1]))
        with pytest.raises(InvalidInputError, match="no member named as an input: got 'c'"):
            feed(str(tmp_path / "none.npz"), *tensors)

    def test_objects_are_not_unpickled(self, tmp_path: Path) -> None:
        np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
        with pytest.raises(InvalidInputError, match="Python objects, which are not unpickled"):
            feed(f"x={tmp_path / 'o.npy'}")

    def test_bfloat16_which_numpy_saves_as_bytes(self, tmp_path: Path) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        array = np.array([[1.5, 2.0]], ml_dtypes.bfloat16)
        np.save(tmp_path / "b.npy", array)
        found = feed(f"x={tmp_path / 'b.npy'}", TensorSpec("x", DataType.BF16, (-1, 2)))
        assert found["x"].dtype == array.dtype
        assert found["x"].astype(np.float32).tolist() == [[1.5, 2.0]]

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(data=st.data(), kind=st.sampled_from(["npy", "npz"]))
    def test_damage_is_named_and_never_more(self, tmp_path: Path, data: st.DataObject, kind: str) -> None:
        file = tmp_path / f"d.{kind}"
        with open(file, "wb") as target:
            array = np.zeros((1, 4), np.float32)
            np.save(target, array) if kind == "npy" else np.savez(target, x=array)
        content = bytearray(file.read_bytes())
        cut = data.draw(st.integers(1, len(content)))
        del content[cut:]
        content[data.draw(st.integers(0, cut - 1))] ^= data.draw(st.integers(0, 255))
        file.write_bytes(content)
        try:
            feed(f"x={file}")
        except AscendInferError as error:
            assert str(file) in str(error)


class TestRawFiles:
    def raw(self, tmp_path: Path, count: int) -> str:
        file = tmp_path / "r.bin"
        np.arange(count, dtype=np.float32).tofile(file)
        return f"x={file}"

    def test_the_open_dimension_follows_from_the_size(self, tmp_path: Path, capsys: Any) -> None:
        assert feed(self.raw(tmp_path, 12))["x"].shape == (3, 4)
        assert "taken as x FP32 [3, 4]" in capsys.readouterr().err

    def test_the_batch_is_one_where_another_dimension_is_open(self, tmp_path: Path) -> None:
        tensor = TensorSpec("x", DataType.FP32, (-1, -1, 2))
        assert feed(self.raw(tmp_path, 12), tensor, max_batch_size=8)["x"].shape == (1, 6, 2)
        with pytest.raises(InvalidInputError, match="--shape states open dimensions"):
            feed(self.raw(tmp_path, 12), tensor)
        assert feed(self.raw(tmp_path, 12), tensor, shapes=["x=2x3x2"])["x"].shape == (2, 3, 2)

    def test_a_size_that_does_not_fit(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match=r"holds 40 bytes, expected FP32 \[-1, 4\], 4 bytes"):
            feed(self.raw(tmp_path, 10))

    def test_text_has_no_raw_form(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="takes text"):
            feed(self.raw(tmp_path, 4), TensorSpec("x", DataType.BYTES, (-1,)))


class TestLiterals:
    @pytest.mark.parametrize(
        ("text", "tensor", "expected"),
        [
            ("[[1, 2.5, 3, 4]]", X, [[1, 2.5, 3, 4]]),
            ("16000", TensorSpec("x", DataType.INT64, ()), 16000),
            ("-1.5", TensorSpec("x", DataType.FP32, ()), -1.5),
            ("[true, false]", TensorSpec("x", DataType.BOOL, (2,)), [True, False]),
            ('["a", "b"]', TensorSpec("x", DataType.BYTES, (2,)), ["a", "b"]),
            ("text:hello", TensorSpec("x", DataType.BYTES, (-1, 1)), [["hello"]]),
            ("text:", TensorSpec("x", DataType.BYTES, ()), ""),
            ("text:a=b", TensorSpec("x", DataType.BYTES, (1,)), ["a=b"]),
        ],
    )
    def test_values(self, text: str, tensor: TensorSpec, expected: object) -> None:
        found = feed(f"x={text}", tensor)["x"]
        assert found.tolist() == expected
        assert found.dtype == tensor.dtype.numpy

    def test_a_json_file(self, tmp_path: Path) -> None:
        (tmp_path / "v.json").write_text("[[1, 2, 3, 4]]")
        assert feed(f"x={tmp_path / 'v.json'}")["x"].tolist() == [[1, 2, 3, 4]]
        (tmp_path / "v.json").write_text('{"a": 1}')
        with pytest.raises(InvalidInputError, match="a JSON dict"):
            feed(f"x={tmp_path / 'v.json'}")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("x=[1, 2", "is no JSON"),
            ("x=[1, [2]]", "gives no array"),
            ('x={"a": 1}', "a JSON number, text or list"),
            ("x=null", "a JSON number, text or list"),
            ('x=["a"]', "got a list of text"),
            ("x=text:hello", "got text; expected numbers: it takes FP32"),
            ("x=", "got nothing"),
            ("x=-", "standard input is not read"),
            ("x=" + "[" * 5000, "is no JSON"),
        ],
    )
    def test_wrong_ones(self, text: str, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            feed(text)


class TestPaths:
    def test_one_that_is_not_there_is_told_the_nearest(self, tmp_path: Path) -> None:
        np.save(tmp_path / "features.npy", np.zeros(4))
        with pytest.raises(InvalidInputError, match=r"not there \(did you mean .*features.npy\?\)"):
            feed(f"x={tmp_path / 'featurs.npy'}")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
            (b"hello", "begins with"),
        ],
    )
    def test_what_is_no_array(self, tmp_path: Path, content: bytes, message: str) -> None:
        (tmp_path / "a.npy").write_bytes(content)
        with pytest.raises(InvalidInputError, match=message):
            feed(f"x={tmp_path / 'a.npy'}")

    def test_a_directory(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="a directory"):
            feed(f"x={tmp_path}")

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.npy")
        with pytest.raises(InvalidInputError, match="a pipe and no regular file") as refused:
            feed(f"x={tmp_path / 'pipe.npy'}")
        assert str(refused.value).count("input 'x'") == 1

    @pytest.mark.parametrize("name", ["x.json", "x.bin"])
    def test_a_file_of_gigabytes_is_refused_by_its_size(self, tmp_path: Path, name: str) -> None:
        with open(tmp_path / name, "wb") as file:
            file.truncate((40 << 30) + 1)
        with pytest.raises(InvalidInputError, match="42,949,672,961 bytes"):
            feed(f"x={tmp_path / name}")

    def test_a_header_that_numpy_does_not_parse(self, tmp_path: Path) -> None:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': " + b"(" * 20_000 + b")" * 20_000 + b"}"
        (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header)
        with pytest.raises(InvalidInputError, match="damaged or cut short") as refused:
            feed(f"x={tmp_path / 'x.npy'}")
        assert "pickle" not in str(refused.value)


class TestBatchDimension:
    def test_one_sample_gets_it_and_it_is_said(self, capsys: Any) -> None:
        assert feed("x=[1, 2, 3, 4]")["x"].shape == (1, 4)
        assert "one sample; taken as a batch of one, [1, 4]" in capsys.readouterr().err

    @pytest.mark.parametrize("text", ["[1, 2, 3]", "[[1, 2, 3]]", "[[[1, 2, 3, 4]]]", "1"])
    def test_nothing_else_does(self, text: str, capsys: Any) -> None:
        shape = np.shape(json.loads(text))
        assert feed(f"x={text}")["x"].shape == shape
        assert not capsys.readouterr().err

    def test_a_fixed_first_dimension_is_none(self) -> None:
        assert feed("x=[1, 2]", TensorSpec("x", DataType.FP32, (3, 2)))["x"].shape == (2,)


class TestOptionsWithoutUse:
    """What is given and would be ignored was meant for something."""

    @pytest.fixture
    def array(self, tmp_path: Path) -> str:
        np.save(tmp_path / "x.npy", np.zeros((1, 4), np.float32))
        return str(tmp_path / "x.npy")

    @pytest.mark.parametrize(
        "options",
        [{"preset": "bogus"}, {"preset": "imagenet"}, {"size": "0"}, {"max_pixels": 5}],
    )
    def test_for_pictures_where_there_are_none(self, array: str, options: dict[str, Any]) -> None:
        with pytest.raises(InvalidOptionError, match="is for pictures, and no input is given one"):
            feed(array, **options)

    def test_a_seed_without_random_numbers(self, array: str) -> None:
        for fill in (None, "zeros"):
            with pytest.raises(InvalidOptionError, match="--seed is for --random"):
                feed(array, seed=1, fill=fill)

    def test_a_shape_for_what_has_one(self, array: str, tmp_path: Path) -> None:
        for value in (array, "[[1, 2, 3, 4]]"):
            with pytest.raises(InvalidOptionError, match="has a shape of its own"):
                feed(f"x={value}", shapes=["x=1x4"])
        Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
        with pytest.raises(InvalidOptionError, match="has a shape of its own"):
            feed(str(tmp_path / "p.png"), PICTURE, preset="unit", shapes=["1x3x8x12"])

    def test_shapes_that_say_nothing_or_twice(self) -> None:
        with pytest.raises(InvalidOptionError, match="expected sizes such as"):
            feed([], fill="zeros", shapes=[""])
        with pytest.raises(InvalidOptionError, match="has a shape already"):
            feed([], fill="zeros", shapes=["1x4", "x=2x4"])
        scalar = TensorSpec("x", DataType.FP32, (-2,))
        assert feed([], scalar, fill="zeros", shapes=["x="])["x"].shape == ()

    def test_a_shape_that_no_memory_holds(self) -> None:
        open_dims = TensorSpec("x", DataType.FP32, (-1, -1, -1))
        for shape in ("99999999999x4000x1", "99999999999x99999999999x4"):
            with pytest.raises(
                InvalidInputError, match="does not fit into memory; --shape states a smaller one"
            ):
                feed([], open_dims, fill="zeros", shapes=[shape])
        with pytest.raises(InvalidInputError, match=r"got shape \[2, 5\], expected \[any, 4\]"):
            feed([], fill="zeros", shapes=["2x5"])

    def test_an_optional_input_is_made_up_where_a_shape_is_stated(self) -> None:
        late = TensorSpec("o", DataType.FP32, (-1,), optional=True)
        assert feed([], late, fill="zeros", shapes=["o=3"])["o"].shape == (3,)


class TestAdvice:
    def test_a_picture_that_is_too_large_names_the_option(self, tmp_path: Path) -> None:
        Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
        with pytest.raises(ImageError, match=r"the limit is 10; .* give a larger --max-pixels"):
            feed(str(tmp_path / "p.png"), PICTURE, preset="unit", max_pixels=10)
        assert feed(str(tmp_path / "p.png"), PICTURE, preset="unit", max_pixels=64)

    @pytest.mark.parametrize(
        ("dtype", "advice"),
        [
            (DataType.UINT8, "--preset raw"),
            (DataType.FP32, "--preset imagenet"),
            (DataType.INT64, "give an array"),
            (DataType.BYTES, "give an array"),
        ],
    )
    def test_a_picture_of_another_type(self, tmp_path: Path, dtype: DataType, advice: str) -> None:
        Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
        tensor = TensorSpec("images", dtype, (-1, 3, 8, 8))
        with pytest.raises(InvalidInputError, match=advice):
            feed(str(tmp_path / "p.png"), tensor, preset="unit" if dtype is not DataType.FP32 else "raw")

    def test_text_that_is_no_utf8(self) -> None:
        with pytest.raises(InvalidInputError, match="no UTF-8"):
            feed("text:\udcff", TensorSpec("t", DataType.BYTES, (-1,)))
