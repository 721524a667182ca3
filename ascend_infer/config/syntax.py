"""The token pass: where everything in a config.pbtxt is, and every mistake in it rather than the first.

protobuf's text_format decides what is a valid file; it keeps no positions and stops at its first error. This
pass reads the same text, recovers after each mistake, and never recurses deeper than the schema does.
"""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.scalars import ScalarError, check_scalar, unescape
from ascend_infer.config.schema import MESSAGES, FieldSpec, MessageSpec
from ascend_infer.config.suggestions import field_hint
from ascend_infer.config.tokens import Token, tokenize
from ascend_infer.config.tree import Node

__all__ = ["read_syntax"]

_CLOSERS = {"{": "}", "<": ">", "(": ")", "[": "]"}
_MAX_ERRORS = 100


class _TooManyErrors(Exception):
    """Nobody reads on after a hundred errors."""


def read_syntax(text: str, findings: Findings) -> list[Node]:
    """Read the whole text; what is wrong is added to ``findings``."""
    reader = _Reader(tokenize(text, findings), findings)
    nodes: list[Node] = []
    try:
        reader.body(MESSAGES["ModelConfig"], "", None, nodes)
    except _TooManyErrors:
        findings.error("", f"more than {_MAX_ERRORS} errors; the rest is not reported")
    return nodes


class _Reader:
    def __init__(self, tokens: list[Token], findings: Findings) -> None:
        self.tokens = tokens
        self.index = 0
        self.findings = findings
        self.open: list[tuple[Token, MessageSpec | None]] = []
        marks = [token.text for token in tokens if token.kind == "mark"]
        # Where braces are out of balance, a field in the wrong message most likely means that one is missing.
        self.unclosed = sum(map(marks.count, "{<")) > sum(map(marks.count, "}>"))

    # -- moving ------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def at_mark(self, *marks: str) -> bool:
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
        if len(self.findings.errors) >= _MAX_ERRORS:
            raise _TooManyErrors
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

    # -- messages ----------------------------------------------------------------------------------

    def body(self, message: MessageSpec, path: str, closer: str | None, nodes: list[Node]) -> None:
        """Read fields up to the closing mark, which is consumed; ``closer`` is None for the whole file."""
        seen: dict[str, Token] = {}
        counts: dict[str, int] = {}
        while True:
            token = self.token
            if token.kind == "end":
                if closer is not None:
                    opened = self.open[-1][0]
                    self.error(
                        opened, f"'{opened.text}' is never closed", path, hint=f"add '{closer}' where it ends"
                    )
                return
            if token.kind == "mark" and token.text in "}])>":
                if self.closes(token, closer):
                    return
                continue
            if self.comment():
                continue
            if not self.field(message, path, nodes, seen, counts):
                return

    def closes(self, token: Token, closer: str | None) -> bool:
        """Deal with a closing mark; True when it ends the message at hand."""
        if token.text == closer:
            self.advance()
            return True
        if closer is None:
            self.error(token, f"'{token.text}' closes nothing", hint="delete it, or add what it should close")
            self.advance()
            return False
        opened = self.open[-1][0]
        self.error(
            token,
            f"'{opened.text}' of line {opened.line} is closed by '{token.text}'",
            got=f"'{token.text}'",
            expected=f"'{closer}'",
            hint=f"add '{closer}' before it",
        )
        if not any(_CLOSERS[outer.text] == token.text for outer, _ in self.open[:-1]):
            self.advance()
        return True

    def field(
        self,
        message: MessageSpec,
        path: str,
        nodes: list[Node],
        seen: dict[str, Token],
        counts: dict[str, int],
    ) -> bool:
        """Read one field; False when it belongs to an outer message whose part at hand was never closed."""
        name_token = self.token
        name = self.field_name(message)
        if name is None:
            return True
        spec = message.fields.get(name)
        if spec is None:
            return self.unknown_field(name_token, name, message, path)
        own = f"{path}.{name}" if path else name
        self.repeated_singular(name_token, spec, own, seen)
        name_at = name_token.line, name_token.column
        self.separator(spec, own)
        if self.at_mark("["):
            self.list_of(spec, own, name_at, nodes, counts)
        else:
            self.element(spec, own, name_at, nodes, counts)
        if self.at_mark(",", ";"):
            self.advance()
        return True

    def field_name(self, message: MessageSpec) -> str | None:
        """Consume a field's name; None after what cannot be one was reported and skipped."""
        token = self.token
        if token.kind == "identifier" or (token.kind == "number" and token.text[0] not in "+-."):
            self.advance()
            return token.text
        if token.kind == "string":
            name = token.text.strip("\"'")
            self.advance()
            if name in message.fields or self.at_mark(":", "="):
                hint = f"write {name}: without quotes; this is protobuf's text format, not JSON"
                if "key" in message.fields:
                    hint = f'write {{ key: "{name}" value: ... }}'
                self.error(token, f"the field name {token.text} is in quotes", hint=hint)
                if name in message.fields:
                    return name
                self.skip_value()
                return None
            self.error(token, f"{_shown(token)} stands where a field's name should")
            return None
        if token.text == "[" and token.kind == "mark":
            self.error(token, "'[' stands where a field's name should", hint="extensions do not exist here")
            self.skip_value()
            return None
        if token.text == "{" and token.kind == "mark":
            hint = "config.pbtxt is protobuf's text format, not JSON: no braces around the whole"
            self.error(token, "'{' stands where a field's name should", hint=None if self.open else hint)
            self.advance()
            if not self.open:
                # Read on inside; the last brace of all then closes this one.
                self.tokens = _without_last_closer(self.tokens)
            else:
                self.index -= 1
                self.skip_value()
            return None
        if token.text in (",", ";"):
            self.error(
                token,
                f"'{token.text}' stands where a field's name should",
                hint="between fields stands one ',' or ';' or nothing",
            )
        elif token.kind != "bad":
            self.error(token, f"{_shown(token)} stands where a field's name should")
        self.advance()
        return None

    def unknown_field(self, token: Token, name: str, message: MessageSpec, path: str) -> bool:
        holders = [outer for _, outer in self.open[:-1] if outer is not None]
        outer = next(
            (held for held in [*reversed(holders), MESSAGES["ModelConfig"]] if name in held.fields), None
        )
        where = f"{path}.{name}" if path else name
        hint = None
        meant = field_hint(name, message.fields)
        if outer is not None and self.open and self.unclosed:
            opened = self.open[-1][0]
            self.error(
                token,
                f"'{name}' is a field of {outer.name}, not of {message.name}",
                where,
                hint=f"is the '{opened.text}' of line {opened.line} not closed?",
            )
            self.unclosed = False
            self.index -= 1
            return False
        if outer is not None and self.open:
            hint = f"it belongs to {outer.name}: move it out of these braces"
        if meant is not None:
            hint = f"did you mean {meant}?"
        elif not message.fields:
            hint = hint or "this message has no fields"
        elif hint is None:
            known = ", ".join(list(message.fields)[:30])
            hint = f"its fields are {known}"
        self.error(token, f"{message.name} has no field '{name}'", where, hint=hint)
        self.skip_value()
        return True

    def repeated_singular(self, token: Token, spec: FieldSpec, path: str, seen: dict[str, Token]) -> None:
        if spec.label != "one":
            return
        first = seen.setdefault(spec.name, token)
        if first is not token:
            self.error(
                token,
                f"'{spec.name}' is given twice, first in line {first.line}",
                path,
                hint="keep one of them",
            )
        if spec.oneof is None:
            return
        other = seen.setdefault("/" + spec.oneof, token)
        if other is not token and other.text != spec.name:
            self.error(
                token,
                f"'{spec.name}' and '{other.text}' (line {other.line}) exclude each other",
                path,
                hint=f"keep one member of {spec.oneof}",
            )

    def separator(self, spec: FieldSpec, path: str) -> None:
        token = self.token
        if self.at_mark(":"):
            self.advance()
            if self.at_mark(":", "="):
                self.error(self.advance(), f"one ':' too many after '{spec.name}'", path)
            return
        if self.at_mark("="):
            self.advance()
            self.error(token, f"'=' after '{spec.name}'", path, hint=f"write {spec.name}: ...")
            return
        if not spec.is_message and (token.kind in ("identifier", "number", "string") or self.at_mark("[")):
            self.error(
                token, f"':' is missing after '{spec.name}'", path, hint=f"write {spec.name}: {token.text}..."
            )

    # -- values ------------------------------------------------------------------------------------

    def list_of(
        self, spec: FieldSpec, path: str, name_at: tuple[int, int], nodes: list[Node], counts: dict[str, int]
    ) -> None:
        opened = self.advance()
        if spec.label == "one":
            self.error(
                opened, f"'{spec.name}' takes one value, not a list", path, hint="delete the square brackets"
            )
        nodes.append(Node(spec, name_at))
        self.open.append((opened, None))
        first = True
        while True:
            token = self.token
            if self.at_mark("]"):
                self.advance()
                break
            if self.comment():
                continue
            if token.kind == "end" or self.at_mark("}", ">", ")") or self.is_next_field(spec):
                self.error(opened, f"'[' of '{spec.name}' is never closed", path, hint="add ']'")
                break
            if self.at_mark(",", ";"):
                self.comma(token, spec, path, first)
            elif not first:
                self.error(
                    token, f"',' is missing in the list '{spec.name}'", path, hint=f"write ', {token.text}'"
                )
            if self.at_mark("]") or self.is_next_field(spec):
                continue
            if self.at_mark(",", ";"):
                first = True
                continue
            before = self.index
            self.element(spec, path, name_at, nodes, counts)
            first = False
            if self.index == before:
                self.advance()
        self.open.pop()

    def comma(self, token: Token, spec: FieldSpec, path: str, first: bool) -> None:
        self.advance()
        if first:
            self.error(token, f"a value is missing before '{token.text}' in the list '{spec.name}'", path)
        elif token.text == ";":
            self.error(token, f"';' in the list '{spec.name}'", path, hint="lists are separated by ','")
        if self.at_mark("]") and not first:
            self.error(token, f"the list '{spec.name}' ends in ','", path, hint="delete the comma before ']'")

    def is_next_field(self, spec: FieldSpec) -> bool:
        """Whether the token is the name of a field, where a list's value should be."""
        return (
            self.token.kind == "identifier"
            and self.following.text in (":", "=")
            and (self.following.kind == "mark")
        )

    def element(
        self, spec: FieldSpec, path: str, name_at: tuple[int, int], nodes: list[Node], counts: dict[str, int]
    ) -> None:
        """Read one value and add its node."""
        own = path
        if spec.label != "one":
            index = counts.get(spec.name, 0)
            counts[spec.name] = index + 1
            own = f"{path}[{index}]"
        token = self.token
        node = Node(spec, name_at, (token.line, token.column))
        if spec.is_message:
            if self.message_value(spec, own, node):
                nodes.append(node)
            return
        nodes.append(node)
        if self.missing_value(spec, own, name_at):
            return
        if spec.type == "string":
            self.string_value(spec, own, node)
        else:
            self.scalar_value(spec, own, node)

    def message_value(self, spec: FieldSpec, path: str, node: Node) -> bool:
        token = self.token
        if not self.at_mark("{", "<", "("):
            if token.kind != "bad":
                self.error(
                    token,
                    f"'{spec.name}' is a message",
                    path,
                    got=_shown(token),
                    expected="'{'",
                    hint=f"write {spec.name} {{ ... }}",
                )
            if token.kind in ("string", "number", "identifier", "bad") and not self.is_next_field(spec):
                self.advance()
            return False
        if token.text == "(":
            self.error(token, f"'(' after '{spec.name}'", path, hint="write '{' and '}'")
        self.advance()
        entry = spec.entry()
        self.open.append((token, entry))
        self.body(entry, path, _CLOSERS[token.text], node.children)
        self.open.pop()
        if spec.label == "map":
            node.key = next((child.key for child in node.children if child.spec.name == "key"), None)
        return True

    def missing_value(self, spec: FieldSpec, path: str, name_at: tuple[int, int]) -> bool:
        token = self.token
        if (
            token.kind == "end"
            or (token.kind == "mark" and token.text in "}]>),;")
            or (token.line > name_at[0] and self.is_next_field(spec))
        ):
            self.error(token, f"'{spec.name}' has no value", path, expected=_wanted(spec))
            return True
        if token.kind == "bad":
            # Reported by the tokenizer already.
            self.skip_glued()
            return True
        return False

    def string_value(self, spec: FieldSpec, path: str, node: Node) -> None:
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
        token = self.token
        if self.at_mark("[", "{", "<", "("):
            self.error(
                token, f"'{spec.name}' takes one value", path, got=_shown(token), expected=_wanted(spec)
            )
            self.skip_value()
            return
        if token.text in ("-", "+") and self.following.kind in ("number", "identifier"):
            self.index += 2
            number = self.tokens[self.index - 1].text
            self.error(token, f"a space after '{token.text}'", path, hint=f"write {token.text}{number}")
            return
        word = token.text
        try:
            check_scalar(spec.type, word)
            self.advance()
        except ScalarError:
            word = self.skip_glued()
            try:
                check_scalar(spec.type, word)
            except ScalarError as whole:
                wrong = whole
            message = f"'{spec.name}' cannot be {word if token.kind == 'string' else repr(word)}"
            self.error(token, message, path, got=word, expected=wrong.expected, hint=wrong.hint)
        node.key = word

    # -- skipping ----------------------------------------------------------------------------------

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


def _without_last_closer(tokens: list[Token]) -> list[Token]:
    for index in range(len(tokens) - 1, -1, -1):
        if tokens[index].text == "}" and tokens[index].kind == "mark":
            return tokens[:index] + tokens[index + 1 :]
    return tokens


def _shown(token: Token) -> str:
    if token.kind == "end":
        return "the end of the file"
    return token.text[:60] if token.kind == "string" else f"'{token.text[:60]}'"


def _wanted(spec: FieldSpec) -> str:
    if spec.type == "string":
        return "text in quotes"
    try:
        check_scalar(spec.type, "\0")
    except ScalarError as wrong:
        return wrong.expected
    return spec.type
