"""From the text of a config.pbtxt to a checked ModelConfig, with the places of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ascend_infer.config.findings import Findings, config_error, nearest
from ascend_infer.config.from_message import from_message
from ascend_infer.config.model_config import ModelConfig
from ascend_infer.config.normalise import normalise
from ascend_infer.config.rules import check_rules
from ascend_infer.config.schema import message_class
from ascend_infer.config.syntax import read_syntax
from ascend_infer.config.text_file import read_config_text
from ascend_infer.config.tree import positions
from ascend_infer.diagnostic import Diagnostic
from ascend_infer.shortened import shortened

__all__ = ["ParsedConfig", "examine_config", "load_config", "parse_config"]


@dataclass(frozen=True, slots=True)
class ParsedConfig:
    """A configuration and where its fields stand.

    Attributes
    ----------
    config : ModelConfig
        With Triton's defaults filled in; what only the model file knows is still missing (see `complete`).
    warnings : tuple of Diagnostic
    file : str or None
    positions : mapping of str to (int, int)
        Line and column, 1-based, by field path: ``input[0].dims[1]``, ``parameters["factor"].string_value``.
    """

    config: ModelConfig
    warnings: tuple[Diagnostic, ...] = ()
    file: str | None = None
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def position(self, field_path: str) -> tuple[int, int] | None:
        """Return line and column of a field, None when the file does not state it."""
        return self.positions.get(field_path)

    def nearest_position(self, field_path: str) -> tuple[int, int] | None:
        """Return line and column of a field or of the innermost message around it that the file states."""
        return nearest(self.positions, field_path)

    def findings(self) -> Findings:
        """Return an empty collection of findings about this file."""
        return Findings(self.file, self.positions)


def parse_config(text: str, *, file: str | None = None, name: str | None = None) -> ParsedConfig:
    """Parse and check the text of a config.pbtxt.

    Parameters
    ----------
    text : str
        Protobuf's text format, message ``inference.ModelConfig``. Empty text is a valid configuration.
    file : str, optional
        Named in errors.
    name : str, optional
        The model directory's name: fills in an empty ``name``, and has to equal one that is stated.

    Raises
    ------
    ConfigError
        With every mistake that was found, each with its line and column. Syntax is checked first, the
        rules of the configuration when that is right.

    Notes
    -----
    Reads no file and touches no device; safe from any thread.
    """
    parsed, diagnostics = examine_config(text, file=file, name=name)
    if parsed is None or any(found.severity == "error" for found in diagnostics):
        raise config_error(file or "config.pbtxt", diagnostics)
    return parsed


def load_config(path: Any, *, name: str | None = None) -> ParsedConfig:
    """Read and parse a config.pbtxt; see `parse_config`.

    Raises
    ------
    ConfigError
        Also when the file is missing, no file, binary, not UTF-8 or larger than 16 MiB.
    """
    return parse_config(read_config_text(path), file=str(path), name=name)


def examine_config(
    text: str, *, file: str | None = None, name: str | None = None
) -> tuple[ParsedConfig | None, tuple[Diagnostic, ...]]:
    """Parse without raising: the configuration, None when its syntax is wrong, and everything that was found.

    The configuration comes back even when rules are broken, so that a checker can go on.
    """
    findings = Findings(file)
    nodes = read_syntax(text, findings)
    message = message_class()()
    refusal = _parse_message(text, message)
    if refusal is not None:
        if not findings.errors:
            line, column, reason = refusal
            findings.error("", reason, at=(line, column or 1) if line else None)
        return None, tuple(findings.diagnostics)
    # protobuf has the last word: what it accepts is no error, whatever the token pass thinks of it.
    noted = [replace(found, severity="warning") for found in findings.diagnostics]
    findings = Findings(file, positions(nodes))
    findings.diagnostics.extend(noted)
    config: ModelConfig = from_message(message, findings)
    if name is not None and not config.name:
        config = replace(config, name=name)
    elif name is not None and config.name != name:
        findings.error(
            "name",
            f"the model is named '{config.name}' and its directory '{name}'",
            got=f"'{config.name}'",
            expected=f"'{name}'",
            hint=f'write name: "{name}", delete the line, or rename the directory',
        )
    config = normalise(config)
    check_rules(config, findings)
    diagnostics = tuple(findings.diagnostics)
    warnings = tuple(found for found in diagnostics if found.severity == "warning")
    return ParsedConfig(config, warnings, file, findings.positions), diagnostics


def _parse_message(text: str, message: Any) -> tuple[int | None, int | None, str] | None:
    """Let protobuf parse; returns line, column and reason of a refusal."""
    from google.protobuf import text_format

    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        # Its text repeats the whole line, which may be the whole file.
        reason = str(error).rpartition("': ")[2]
        return error.GetLine(), error.GetColumn(), shortened(reason, 300) or "the text cannot be parsed"
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        return None, None, f"protobuf cannot parse the text: {shortened(str(error), 300)}"
    return None
