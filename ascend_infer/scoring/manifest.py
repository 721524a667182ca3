"""The file beside the output that says what made it, and whether a run that was begun may be gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ascend_infer.errors import ResumeError
from ascend_infer.scoring.durable import write_durably

__all__ = ["Manifest", "read_manifest"]

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Manifest:
    """What made an output.

    Attributes
    ----------
    state : {"running", "complete"}
    made_of : mapping
        Model, configuration, runtime, options, source and form of the output: when these are equal, so is the output.
    batch, part_rows : int
        How the run is laid out; a run that goes on keeps it.
    overwrite : bool
        The run was asked to replace an output; the same call goes on with it.
    output : mapping
        Of a complete run: rows, failed rows, the first reasons, bytes and SHA-256; a checksum of the rows' names, and
        how many rows go by their numbers.
    """

    state: str
    made_of: Mapping[str, Any]
    batch: int
    part_rows: int
    overwrite: bool = False
    output: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: str) -> None:
        """Write it, whole or not at all.

        Raises
        ------
        OSError
        """
        values = {
            "format": FORMAT,
            "state": self.state,
            "batch": self.batch,
            "part_rows": self.part_rows,
            "overwrite": self.overwrite,
            "output": dict(self.output),
            **self.made_of,
        }
        write_durably(path, json.dumps(values, indent=1, sort_keys=False).encode() + b"\n")

    def complete(self, output: Mapping[str, Any]) -> Manifest:
        """Return the manifest of the run once its output is there."""
        return replace(self, state="complete", output=output)

    def changes(self, made_of: Mapping[str, Any]) -> list[str]:
        """Say what is different now, a sentence each; empty where nothing is."""
        before, now = dict(_leaves(self.made_of)), dict(_leaves(json.loads(json.dumps(made_of))))
        return [
            f"{key}: was {_shown(before.get(key))}, is {_shown(now.get(key))}"
            for key in [*before, *(key for key in now if key not in before)]
            if before.get(key) != now.get(key)
        ]


def read_manifest(path: str) -> Manifest | None:
    """Read a manifest; None where there is none.

    Raises
    ------
    ResumeError
        It is damaged, or of another version of this library.
    """
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        if values.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        return Manifest(
            state=values.pop("state"),
            batch=values.pop("batch"),
            part_rows=values.pop("part_rows"),
            overwrite=values.pop("overwrite"),
            output=values.pop("output"),
            made_of=values,
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResumeError(
            f"{path}: this is no manifest of a scoring run ({error}); remove it and "
            f"{os.path.basename(path).removesuffix('.manifest.json')}.parts to start afresh",
            path=path,
        ) from error


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{place}[{index}]")
    else:
        yield place, value


def _shown(value: Any) -> str:
    text = "not there" if value is None else json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
