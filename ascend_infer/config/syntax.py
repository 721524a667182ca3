"""The token pass: where everything in a config.pbtxt is, and every mistake in it rather than the first.

protobuf's text_format decides what is a valid file; it keeps no positions and stops at its first error. This
pass reads the same text, recovers after each mistake, and never recurses deeper than the schema does.
"""

from __future__ import annotations

from ascend_infer.config.findings import Findings
from ascend_infer.config.scalar_reader import ScalarReader, shown
from ascend_infer.config.schema import MESSAGES, FieldSpec, MessageSpec
from ascend_infer.config.suggestions import field_hint
from ascend_infer.config.token_cursor import MAX_ERRORS, TooManyErrorsError
from ascend_infer.config.tokens import Token, tokenize
from ascend_infer.config.tree import Node

__all__ = ["read_syntax"]

_CLOSERS = {"{": "}", "<": ">", "(": ")", "[": "]"}


def read_syntax(text: str, findings: Findings) -> list[Node]:
    """Read the whole text; what is wrong is added to ``findings``."""
    reader = _Reader(tokenize(text, findings), findings)
    nodes: list[Node] = []
    try:
        reader.body(MESSAGES["ModelConfig"], "", None, nodes)
    except TooManyErrorsError:
        findings.error("", f"more than {MAX_ERRORS} errors; the rest is not reported")
    return nodes


class _Reader(ScalarReader):
    def __init__(self, tokens: list[Token], findings: Findings) -> None:
        super().__init__(tokens, findings)
        marks = [token.text for token in tokens if token.kind == "mark"]
        # Where braces are out of balance, a field in the wrong message most likely means that one is missing.
        self.unclosed = sum(map(marks.count, "{<")) > sum(map(marks.count, "}>"))
        self.in_braces = False
        self.is_json = False

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
                if not self.is_json:
                    self.error(token, f"the field name {token.text} is in quotes", hint=hint)
                if name in message.fields:
                    return name
                self.skip_value()
                return None
            self.error(token, f"{shown(token)} stands where a field's name should")
            return None
        if token.text == "[" and token.kind == "mark":
            self.error(token, "'[' stands where a field's name should", hint="extensions do not exist here")
            self.skip_value()
            return None
        if token.text == "{" and token.kind == "mark":
            self.nameless_brace(token)
            return None
        if token.text in (",", ";"):
            self.error(
                token,
                f"'{token.text}' stands where a field's name should",
                hint="between fields stands one ',' or ';' or nothing",
            )
        elif token.kind != "bad":
            self.error(token, f"{shown(token)} stands where a field's name should")
        self.advance()
        return None

    def nameless_brace(self, token: Token) -> None:
        """Deal with a brace without a field's name, as at the beginning of a JSON file."""
        message = "'{' stands where a field's name should"
        if self.open or self.in_braces:
            self.error(token, message)
            self.skip_value()
            return
        self.in_braces = True
        self.is_json = self.following.kind == "string"
        hint = "this is JSON, not protobuf's text format: no braces around it, no quotes around names"
        self.error(token, message, hint=hint)
        self.advance()
        # Read on inside; the last brace of all then closes this one.
        self.tokens = _without_last_closer(self.tokens, self.index)

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
                    got=shown(token),
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


def _without_last_closer(tokens: list[Token], start: int) -> list[Token]:
    for index in range(len(tokens) - 1, start - 1, -1):
        if tokens[index].text == "}" and tokens[index].kind == "mark":
            return tokens[:index] + tokens[index + 1 :]
    return tokens
