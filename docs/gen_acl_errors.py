"""Write the table of docs/acl_errors.md from the library's own table of ACL codes.

Without arguments the page's table is rewritten; with --check the exit status is 1 when it is not up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ascend_infer.acl_codes import acl_codes, device_fault, device_lost, model_unfit

PAGE = Path(__file__).resolve().parent / "acl_errors.md"
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def table() -> str:
    """Return the table in Markdown."""
    lines = ["| code | name | raises | cause | what to do |", "| --- | --- | --- | --- | --- |"]
    for number, code in acl_codes().items():
        remarks = [
            word
            for word, holds in (
                ("retryable", code.is_retryable),
                ("device lost", device_lost(number)),
                ("the instance is loaded again", device_fault(number) and not device_lost(number)),
                ("the model file does not do", model_unfit(number)),
            )
            if holds
        ]
        cause = f"{code.cause} ({', '.join(remarks)})" if remarks else code.cause
        cells = (f"{number}", f"`{code.name}`", f"`{code.error_class.__name__}`", cause, code.remedy)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Rewrite the table, or check it."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
    if "--check" in arguments:
        if wanted != page:
            print(f"{PAGE} is not up to date: run python docs/gen_acl_errors.py", file=sys.stderr)
        return int(wanted != page)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
