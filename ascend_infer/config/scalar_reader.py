"""Reading the scalars of a config.pbtxt: text, numbers, booleans, names of enum values."""

from __future__ import annotations

from ascend_infer.config.scalars import ScalarError, check_scalar, unescape
from ascend_infer.config.schema import FieldSpec
from ascend_infer.config.token_cursor import TokenCursor
from ascend_infer.config.tokens import Token
from ascend_infer.config.tree import Node
from ascend_infer.shortened import shortened

__all__ = ["ScalarReader", "shown"]


class ScalarReader(TokenCursor):
    """A cursor that can consume one scalar value, right or wrong."""

    def is_next_field(self, spec: FieldSpec) -> bool:
        """Whether the token is the name of a field, where a list's value should be."""
        return (
            self.token.kind == "identifier"
            and self.following.text in (":", "=")
            and (self.following.kind == "mark")
        )

    def missing_value(self, spec: FieldSpec, path: str, name_at: tuple[int, int]) -> bool:
        """Report and skip a value that is not there; True when it is not."""
        token = self.token
        if (
            token.kind == "end"
            or (token.kind == "mark" and token.text in "}]>),;")
            or (token.line > name_at[0] and self.is_next_field(spec))
        ):
            self.error(token, f"'{spec.name}' has no value", path, expected=wanted(spec))
            return True
        if token.kind == "bad":
            # Reported by the tokenizer already.
            self.skip_glued()
            return True
        return False

    def string_value(self, spec: FieldSpec, path: str, node: Node) -> None:
        """Consume text; adjacent strings are one."""
        token = self.token
        if token.kind != "string":
            word = self.skip_glued()
            self.error(
                token,
                f"'{spec.name}' is text and needs quotes",
                path,
                got=word,
                expected="text in quotes",
                hint=f'write {spec.name}: "{word}"',
            )
            node.key = word
            return
        parts = []
        while self.token.kind == "string":
            part = self.advance()
            if len(part.text) < 2 or part.text[-1] != part.text[0]:
                curly = next((mark for mark in part.text if mark in "“”‘’＂＇"), None)
                hint = f"close it with {part.text[0]}"
                if curly:
                    hint = f"'{curly}' (U+{ord(curly):04X}) does not close it: write {part.text[0]}"
                self.error(part, "the quotation is not closed in its line", path, hint=hint)
                continue
            try:
                parts.append(unescape(part.text))
            except ScalarError as wrong:
                self.error(
                    part, f"'{spec.name}': no valid text", path, expected=wrong.expected, hint=wrong.hint
                )
        node.key = "".join(parts)

    def scalar_value(self, spec: FieldSpec, path: str, node: Node) -> None:
        """Consume any other scalar."""
        token = self.token
        if self.at_mark("[", "{", "<", "("):
            self.error(token, f"'{spec.name}' takes one value", path, got=shown(token), expected=wanted(spec))
            self.skip_value()
            return
        if token.text in ("-", "+") and self.following.kind in ("number", "identifier"):
            self.index += 2
            number = self.tokens[self.index - 1].text
            self.error(token, f"a space after '{token.text}'", path, hint=f"write {token.text}{number}")
            return
        word = token.text
        if not _refused(spec.type, word):
            self.advance()
        else:
            word = self.skip_glued()
            # An invisible character may have cut the word; that is reported already.
            wrong = _refused(spec.type, word)
            if wrong is not None:
                message = f"'{spec.name}' cannot be {word if token.kind == 'string' else repr(word)}"
                self.error(token, message, path, got=word, expected=wrong.expected, hint=wrong.hint)
        node.key = word


def shown(token: Token) -> str:
    """Return a token for a message, long ones cut."""
    if token.kind == "end":
        return "the end of the file"
    text = shortened(token.text)
    return text if token.kind == "string" else f"'{text}'"


def _refused(type_name: str, word: str) -> ScalarError | None:
    try:
        check_scalar(type_name, word)
    except ScalarError as wrong:
        return wrong
    return None


def wanted(spec: FieldSpec) -> str:
    """Return what a field's value should look like."""
    if spec.type == "string":
        return "text in quotes"
    wrong = _refused(spec.type, "\0")
    return wrong.expected if wrong is not None else spec.type
