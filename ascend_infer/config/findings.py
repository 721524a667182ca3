"""Collecting diagnostics about one file, each at the place in it that its field path names."""

from __future__ import annotations

from collections.abc import Mapping

from ascend_infer.diagnostic import Diagnostic
from ascend_infer.errors import ConfigError

__all__ = ["Findings", "config_error", "nearest"]

Position = tuple[int, int]

# Lines of an exception's text; its diagnostics hold all.
_MOST_SHOWN = 100


def nearest(positions: Mapping[str, Position], field: str) -> Position | None:
    """Return where a field is, or what holds it: ``input[0].dims`` for ``input[0].dims[7]``."""
    while field:
        if field in positions:
            return positions[field]
        cut = max(field.rfind("."), field.rfind("["))
        if cut <= 0:
            return None
        field = field[:cut]
    return None


class Findings:
    """Errors and warnings in the order in which they are found."""

    def __init__(self, file: str | None = None, positions: Mapping[str, Position] | None = None) -> None:
        self.file = file
        self.positions: Mapping[str, Position] = positions or {}
        self.diagnostics: list[Diagnostic] = []

    def error(
        self,
        field: str,
        message: str,
        *,
        got: object = None,
        expected: str | None = None,
        hint: str | None = None,
        at: Position | None = None,
    ) -> None:
        """Add an error about the field, at ``at`` or where the field is; a hint says the fix."""
        self._add("error", field, message, got, expected, hint, at)

    def warning(
        self,
        field: str,
        message: str,
        *,
        got: object = None,
        expected: str | None = None,
        hint: str | None = None,
        at: Position | None = None,
    ) -> None:
        """Add a warning, as `error` does."""
        self._add("warning", field, message, got, expected, hint, at)

    def _add(
        self,
        severity: str,
        field: str,
        message: str,
        got: object,
        expected: str | None,
        hint: str | None,
        at: Position | None,
    ) -> None:
        line, column = at or nearest(self.positions, field) or (None, None)
        self.diagnostics.append(
            Diagnostic(
                message=_clip(message, 1000),
                severity="error" if severity == "error" else "warning",
                file=self.file,
                line=line,
                column=column,
                field=_clip(field, 300) if field else None,
                got=None if got is None else _clip(str(got), 200),
                expected=expected,
                hint=_clip(hint, 500) if hint is not None else None,
            )
        )

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors alone."""
        return tuple(found for found in self.diagnostics if found.severity == "error")

    def raise_if_errors(self, subject: str) -> None:
        """Raise ConfigError with everything found when at least one finding is an error."""
        if self.errors:
            raise config_error(subject, self.diagnostics)


def _clip(text: str, longest: int) -> str:
    """Shorten what a file made long; a message is read by people."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def config_error(subject: str, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> ConfigError:
    """Make the exception: one error as its own line, several as a list under ``subject``."""
    ordered = sorted(diagnostics, key=lambda found: (found.line is None, found.line or 0, found.column or 0))
    errors = [found for found in ordered if found.severity == "error"]
    if len(errors) == 1:
        text = str(errors[0])
    else:
        lines = [f"  {found}" for found in errors[:_MOST_SHOWN]]
        if len(errors) > _MOST_SHOWN:
            lines.append(f"  and {len(errors) - _MOST_SHOWN} more")
        text = "\n".join([f"{subject}: {len(errors)} errors", *lines])
    return ConfigError(text, diagnostics=ordered)
