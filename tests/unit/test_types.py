from __future__ import annotations

import numpy as np
import pytest

from ascend_infer.types import DataType


@pytest.mark.parametrize("dtype", list(DataType), ids=str)
def test_every_name_and_number_leads_back(dtype: DataType) -> None:
    assert DataType(dtype.value) is dtype
    if dtype.config_name:
        assert DataType.from_config(dtype.config_name) is dtype
    assert DataType.from_onnx(dtype.onnx) is dtype
    assert DataType.from_acl(dtype.acl) is dtype
    assert DataType.from_om(dtype.om) is dtype
    assert DataType.from_numpy(dtype.numpy) is dtype


def test_numbers_are_those_of_their_sources() -> None:
    # Triton's model_config.proto, onnx.proto's TensorProto, acl_base.h and ge_ir.proto, by hand.
    assert [(d.triton, d.onnx, d.acl, d.om) for d in (DataType.FP32, DataType.FP16, DataType.INT8)] == [
        (11, 1, 0, 1),
        (10, 10, 1, 2),
        (6, 3, 2, 3),
    ]
    assert (DataType.BYTES.config_name, DataType.BYTES.triton, DataType.BYTES.onnx) == ("TYPE_STRING", 13, 8)
    assert (DataType.BF16.triton, DataType.BF16.onnx, DataType.BF16.acl, DataType.BF16.om) == (14, 16, 27, 27)


def test_onnx_numbers_agree_with_the_onnx_package() -> None:
    onnx = pytest.importorskip("onnx")
    for dtype in DataType:
        found = onnx.helper.tensor_dtype_to_np_dtype(dtype.onnx)
        if dtype is not DataType.BYTES:
            assert found == dtype.numpy, dtype


def test_itemsize_is_numpys() -> None:
    for dtype in DataType:
        if dtype is not DataType.BYTES:
            assert dtype.itemsize == dtype.numpy.itemsize


@pytest.mark.parametrize("text", ["U4", "S3", "O"])
def test_text_is_bytes(text: str) -> None:
    assert DataType.from_numpy(np.dtype(text)) is DataType.BYTES


def test_byte_order_does_not_matter() -> None:
    assert DataType.from_numpy(">f4") is DataType.FP32


def test_a_date_is_no_tensor_type() -> None:
    with pytest.raises(ValueError, match="datetime64"):
        DataType.from_numpy("datetime64[s]")
