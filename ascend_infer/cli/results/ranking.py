"""Which outputs are ranked, and with which labels."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ascend_infer.config import ModelConfig
from ascend_infer.errors import InvalidInputError, InvalidOptionError
from ascend_infer.image import Label
from ascend_infer.result import InferResult

__all__ = ["rank_outputs", "read_labels"]

_DEFAULT = 5


def read_labels(path: str) -> list[str]:
    """Read labels: a line each, or a JSON list, or a JSON object of index to label.

    Raises
    ------
    InvalidOptionError
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
        if text.lstrip()[:1] in ("[", "{"):
            found = json.loads(text)
            if isinstance(found, dict):
                found = [found[str(index)] for index in range(len(found))]
            return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in found]
        return text.splitlines()
    except KeyError as error:
        problem = f"a JSON object without key {error}"
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
        The only output holds no scores.
    InvalidOptionError
        The labels are not as many as the classes.
    """
    asked = k is not None or softmax or labels is not None
    rankings = {}
    for name in result:
        output = config.output_by_name(name)
        if not asked and (output is None or not output.label_filename):
            continue
        try:
            ranked = result.top_k(name, k or _DEFAULT, softmax)
        except InvalidInputError:
            if len(result) == 1:
                raise
            continue  # of several outputs those that hold scores are meant
        rows = [ranked] if ranked and isinstance(ranked[0], Label) else ranked
        rankings[name] = [_labelled(row, result, name, labels) for row in rows]  # type: ignore[arg-type]
    return rankings


def _labelled(row: list[Label], result: InferResult, name: str, labels: Sequence[str] | None) -> list[Label]:
    if labels is None:
        return row
    array = result[name]
    classes = array.size // max(1, array.shape[0]) if array.ndim > 1 else array.size
    if len(labels) != classes:
        raise InvalidOptionError(
            f"--labels: got {len(labels)} labels, expected {classes}, one for each class of output {name!r}",
            option="labels",
            got=len(labels),
        )
    return [label._replace(label=labels[label.index]) for label in row]
