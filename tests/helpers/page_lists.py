"""The pages, and by whom the Python of each is run."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: Pages whose Python runs as it stands, one block after the other, beside a model directory and photos.
PROGRAMS = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("tutorial", "migration", "sessions", "batching", "gears")),
]
#: Pages whose Python changes its process, with what stands for the reader's own device and models.
PROGRAMS_OF_A_PROCESS: dict[str, dict[str, str]] = {
    "metrics": {},
    "simulator": {},
    "memory": {
        "npu:0": "sim:0", "repository/detector": "resnet50.om", "repository/classifier": "resnet50.om"
    },
}  # fmt: skip
#: Pages that other files run: a page of these is named in its file, which takes all of its blocks.
RUN_ELSEWHERE = {
    "docs/images.md": "tests/unit/image/test_image_docs.py",
    "docs/scoring.md": "tests/unit/scoring/test_scoring_docs.py",
    "docs/testing.md": "tests/rules/test_docs.py",
    "docs/pyacl.md": "tests/rules/test_docs.py",
    "docs/cluster.md": "tests/rules/test_docs.py",
}
#: Blocks that do not run here, by page: what stands in them, and why not.
NOT_RUN = {
    "docs/cluster.md": {
        "from ascend_infer.scoring.ray import score_dataset": "needs Ray and a bucket; .ci/campaign ray runs its like",
        "from ascend_infer.scoring.ray import NPU, Scorer, pin": "needs Ray; .ci/campaign ray runs its like",
    },
}
