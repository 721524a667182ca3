"""Which outputs are ranked, and with which labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod

from ascend_infer.cli.printing import note
from ascend_infer.config import ModelConfig
from ascend_infer.config.tensor_config import ModelOutput
from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.image import Label
from ascend_infer.regular_file import FileTooLargeError, NotRegularFileError, read_regular
from ascend_infer.result import InferResult

__all__ = ["rank_outputs", "read_labels"]

_DEFAULT = 5
#: Bytes of a label file, as of one that a configuration names.
_LARGEST = 16 * 1024 * 1024


def read_labels(path: str) -> list[str]:
    """Read labels: a line each, or a JSON list, or a JSON object of index to label.

    Raises
    ------
    InvalidOptionError
    """
    try:
        text = read_regular(path, _LARGEST, pipes=True).decode("utf-8-sig")
        if text.lstrip()[:1] in ("[", "{"):
            found = json.loads(text)
            if isinstance(found, dict):
                found = [found[str(index)] for index in range(len(found))]
            return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in found]
        return text.splitlines()
    except KeyError as error:
        problem = f"a JSON object without key {error}"
    except (NotRegularFileError, FileTooLargeError) as error:
        problem = f"what is no label file: {error.strerror}"
    except OSError as error:
        problem = f"a file that cannot be read ({error.strerror})"
    except (ValueError, RecursionError) as error:
        problem = f"a file that is neither UTF-8 lines nor JSON ({error})"
    raise InvalidOptionError(
        f"--labels {path}: got {problem}, expected one label a line", option="labels", got=path
    )


def rank_outputs(
    result: InferResult, config: ModelConfig, k: int | None, softmax: bool, labels: Sequence[str] | None
) -> dict[str, list[list[Label]]]:
    """Rank every output when that was asked for, else those that have labels.

    Raises
    ------
    InvalidInputError
        Ranking was asked for, and the only output holds no scores.
    InvalidOptionError
        ``labels`` are not as many as the classes. A label file that the configuration names gets a note instead.
    """
    asked = k is not None or softmax or labels is not None
    rankings = {}
    for name in result:
        output = config.output_by_name(name)
        if not asked and (output is None or not output.label_filename):
            continue
        try:
            ranked = result.top_k(name, k or _DEFAULT, softmax)
        except InvalidInputError as error:
            if asked and len(result) == 1:
                raise
            if not asked:
                note(f"not ranked: {error}")
            continue  # of several outputs those that hold scores are meant
        if labels is None and output is not None and output.label_filename:
            _compare_labels(result, name, output)
        rows = [ranked] if ranked and isinstance(ranked[0], Label) else ranked
        rankings[name] = [_labelled(row, result, name, labels) for row in rows]  # type: ignore[arg-type]
    return rankings


def _labelled(row: list[Label], result: InferResult, name: str, labels: Sequence[str] | None) -> list[Label]:
    if labels is None:
        return row
    classes = _classes(result, name)
    labels = _without_blank_end(labels, classes)
    if len(labels) != classes:
        raise InvalidOptionError(
            f"--labels: got {len(labels)} labels, expected {classes}, one for each class of output {name!r}",
            option="labels",
            got=len(labels),
        )
    return [label._replace(label=labels[label.index]) for label in row]


def _compare_labels(result: InferResult, name: str, output: ModelOutput) -> None:
    """Say that a configuration's label file belongs to another model, or lost some of its lines."""
    found, classes = result.labels(name), _classes(result, name)
    if found is None or not classes:
        return
    count = len(_without_blank_end(found, classes))
    if count != classes:
        note(
            f"{output.label_filename} has {count} labels, output {name!r} {classes} classes: labels may be wrong"
        )


def _classes(result: InferResult, name: str) -> int:
    array = result[name]
    return prod(array.shape[1:]) if array.ndim > 1 else array.size


def _without_blank_end(labels: Sequence[str], classes: int) -> Sequence[str]:
    """Leave out empty lines behind the last class."""
    return labels if any(label.strip() for label in labels[classes:]) else labels[:classes]
