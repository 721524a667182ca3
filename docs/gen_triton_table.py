"""Write the table of docs/triton.md: what Triton says of each recorded configuration, and what we say.

Without arguments the table is rewritten; with --check the exit status is 1 when it is not up to date.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from ascend_infer.diagnostic import Diagnostic
from ascend_infer.lint import lint

HERE = Path(__file__).resolve().parent
PAGE = HERE / "triton.md"
CASES = HERE.parent / "tests" / "unit" / "config" / "refused_configs.json"
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def _findings(root: Path, cases: list[dict[str, object]]) -> dict[str, list[Diagnostic]]:
    """Lint a repository of all cases; each directory also holds model files that are never read."""
    found: dict[str, list[Diagnostic]] = {}
    for case in cases:
        name, lines = str(case["name"]), case["config"]
        assert isinstance(lines, list)
        version = root / name / "1"
        version.mkdir(parents=True)
        (version / "model.py").write_text("class TritonPythonModel:\n    pass\n")
        (version / "model.onnx").touch()
        (version.parent / "config.pbtxt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        found[name] = []
    for each in lint(root, has_npu=False):
        assert each.file is not None
        found[Path(each.file).relative_to(root).parts[0]].append(each)
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _ours(found: list[Diagnostic], root: Path) -> str:
    if not found:
        return "loads"
    parts = []
    for each in found:
        place = f"{each.line}:{each.column} " if each.line else ""
        hint = f" ({each.hint})" if each.hint else ""
        word = "" if each.severity == "error" else "loads, with a warning: "
        parts.append(f"{word}{place}{each.message}{hint}".replace(f"{root}/", ""))
    return "<br>".join(_cell(part) for part in parts)


def table() -> str:
    """Return the table in Markdown."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))
    lines = ["| case | Triton 2.51 | ascend_infer |", "| --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        found = _findings(root, cases)
        for case in cases:
            name = case["name"]
            triton = (
                case["triton"].replace(f" for {name}", "").replace(f" '{name}'", " '…'").replace(name, "…")
            )
            lines.append(f"| {name} | {_cell(triton)} | {_ours(found[name], root)} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Rewrite the table, or check it."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
    if "--check" in arguments:
        if wanted != page:
            print(f"{PAGE} is not up to date: run python docs/gen_triton_table.py", file=sys.stderr)
        return int(wanted != page)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
