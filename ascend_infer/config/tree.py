"""What the token pass leaves behind: fields and values with their places, and the paths that name them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ascend_infer.config.schema import FieldSpec

__all__ = ["Node", "positions"]


@dataclass(slots=True)
class Node:
    """One field with one value; a list gives a node for each element, an empty list one without a value.

    ``value_at`` is where the value begins; ``key`` is a map entry's key as text.
    """

    spec: FieldSpec
    name_at: tuple[int, int]
    value_at: tuple[int, int] | None = None
    children: list[Node] = field(default_factory=list)
    key: str | None = None


def positions(nodes: list[Node]) -> dict[str, tuple[int, int]]:
    """Return the place of each field path, ``input[0].dims[1]`` or ``parameters["factor"].string_value``.

    A scalar is where its value is, a message where its name or, in a list, its brace is. A map's key that
    occurs twice is where it is last, as its value is.
    """
    found: dict[str, tuple[int, int]] = {}
    _walk(nodes, "", found)
    return found


def _walk(nodes: list[Node], prefix: str, found: dict[str, tuple[int, int]]) -> None:
    counts: dict[str, int] = {}
    for node in nodes:
        spec = node.spec
        path = f"{prefix}.{spec.name}" if prefix else spec.name
        if spec.label == "one":
            place = node.name_at if spec.is_message else node.value_at or node.name_at
            found.setdefault(path, place)
            _walk(node.children, path, found)
            continue
        found.setdefault(path, node.name_at)
        if node.value_at is None:
            continue
        if spec.label == "map":
            key = node.key or ("" if spec.key_type == "string" else "0")
            path = f'{path}["{key}"]' if spec.key_type == "string" else f"{path}[{key}]"
            found[path] = node.value_at
            for child in node.children:
                if child.spec.name == "key":
                    continue
                if child.spec.is_message:
                    _walk(child.children, path, found)
                elif child.value_at is not None:
                    found[path] = child.value_at
            continue
        index = counts.get(spec.name, 0)
        counts[spec.name] = index + 1
        path = f"{path}[{index}]"
        found[path] = node.value_at
        _walk(node.children, path, found)
