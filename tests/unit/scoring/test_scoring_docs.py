"""docs/scoring.md runs as it is written, in a folder with a model and photos."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from photos import colours_directory, photo_folder

PAGE = Path(__file__).parents[3] / "docs" / "scoring.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_the_pages_code_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    if ".parquet" in code:
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASCEND_INFER_DEVICE", "cpu")
    colours_directory(tmp_path / "model_repository")
    photo_folder(tmp_path, 10)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    summary = names.get("summary")
    assert summary is None or (summary.rows, summary.failed) == (10, 0)
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".manifest.json")]
