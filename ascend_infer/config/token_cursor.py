"""Walking over tokens: looking, advancing, skipping what cannot be read, reporting where it is."""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.schema import MessageSpec
from ascend_infer.config.tokens import Token

__all__ = ["MAX_ERRORS", "TokenCursor", "TooManyErrorsError"]

MAX_ERRORS = 100


class TooManyErrorsError(Exception):
    """Nobody reads on after a hundred errors."""


class TokenCursor:
    """A place in a list of tokens, the brackets open there, and the findings so far."""

    def __init__(self, tokens: list[Token], findings: Findings) -> None:
        self.tokens = tokens
        self.index = 0
        self.findings = findings
        self.open: list[tuple[Token, MessageSpec | None]] = []

    @property
    def token(self) -> Token:
        """The token at hand."""
        return self.tokens[self.index]

    @property
    def following(self) -> Token:
        """The token after it."""
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Consume a token and return it; the end is never passed."""
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def at_mark(self, *marks: str) -> bool:
        """Whether the token at hand is one of these marks."""
        token = self.token
        return token.kind == "mark" and token.text in marks

    def error(
        self,
        token: Token,
        message: str,
        field: str = "",
        *,
        got: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Report an error at a token."""
        if len(self.findings.errors) >= MAX_ERRORS:
            raise TooManyErrorsError
        place = token.line, token.column
        self.findings.error(field, message, got=got, expected=expected, hint=hint, at=place)

    def comment(self) -> bool:
        """Report and skip a comment of another language; True when there was one."""
        if not (self.at_mark("/") and self.following.glued and self.following.text in ("/", "*")):
            return False
        start, block = self.token, self.following.text == "*"
        self.error(start, f"'/{self.following.text}' begins no comment here", hint="comments begin with #")
        if not block:
            while self.token.kind != "end" and self.token.line == start.line:
                self.advance()
            return True
        self.index += 2
        while self.token.kind != "end":
            token = self.advance()
            if token.text == "*" and self.token.text == "/":
                self.advance()
                break
            if token.text.endswith("*") and self.at_mark("/"):
                self.advance()
                break
        return True

    def skip_glued(self) -> str:
        """Consume a token and all that is glued to it, up to a mark of structure; return the text."""
        words = [self.advance().text]
        while self.token.glued and not self.at_mark(",", ";", "}", "]", ")", ">", "{", "[", "<", "("):
            if self.token.kind == "end":
                break
            words.append(self.advance().text)
        return "".join(words)

    def skip_value(self) -> None:
        """Skip an optional ':' and a value of any kind, brackets in balance."""
        if self.at_mark(":", "="):
            self.advance()
        if self.at_mark("{", "[", "<", "("):
            depth = 0
            while self.token.kind != "end":
                token = self.advance()
                if token.kind == "mark":
                    depth += (token.text in "{[<(") - (token.text in "}])>")
                    if depth == 0:
                        break
        elif self.token.kind in ("string", "number", "identifier", "bad") and not (
            self.token.kind == "identifier" and self.following.text in (":", "=", "{")
        ):
            string = self.token.kind == "string"
            self.skip_glued()
            while string and self.token.kind == "string":
                self.advance()
        if self.at_mark(",", ";"):
            self.advance()
