"""XMLBIF 0.3: VARIABLE elements with OUTCOMEs, DEFINITION elements with FOR, GIVEN and TABLE.

Read by a SAX parser that refuses entities (defusedxml); the numbers of a TABLE run through the node fastest. Text is taken
without the white space around it, unless its element says xml:space="preserve".
"""

from __future__ import annotations

import io
import itertools
import math
import re
from typing import Any, NoReturn
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.saxutils import escape

from ...errors import FormatError
from .text import Description, written

INSIDE = {
    "": {"BIF"},
    "BIF": {"NETWORK"},
    "NETWORK": {"NAME", "PROPERTY", "VARIABLE", "DEFINITION"},
    "VARIABLE": {"NAME", "OUTCOME", "VALUE", "PROPERTY"},
    "DEFINITION": {"FOR", "GIVEN", "TABLE", "PROPERTY"},
}
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse(data: bytes, source: str) -> Description:
    """A description from the bytes of a file; `source` names it in errors."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.expatreader import create_parser

    handler = _Handler(source)
    parser = create_parser(forbid_dtd=False, forbid_entities=True, forbid_external=True)
    parser.setContentHandler(handler)
    try:
        parser.parse(io.BytesIO(data))
    except DefusedXmlException as error:
        handler.fail(f"expected plain XML, found an entity or an external reference ({error})")
    except SAXParseException as error:
        place = f"line {error.getLineNumber()}, column {(error.getColumnNumber() or 0) + 1}"
        raise FormatError(f"{source}, {place}: not well-formed XML: {error.getMessage()}") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{source}: not well-formed XML: {error}") from None
    return handler.found.finish(handler.fail)


class _Handler(ContentHandler):
    """Collects the texts of the element that is open, and turns closed elements into the description."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source, self.found = source, Description()
        self.stack: list[str] = [""]
        self.text: list[str] = []
        self.keep = False
        self.parts: dict[str, list[str]] = {}
        self.locator: Any = None

    def setDocumentLocator(self, locator: Any) -> None:
        self.locator = locator

    def fail(self, message: str) -> NoReturn:
        line, column = self.locator.getLineNumber(), self.locator.getColumnNumber()
        if line is None or column is None:  # the parser has closed: the file as a whole is wrong
            raise FormatError(f"{self.source}: {message}")
        raise FormatError(f"{self.source}, line {line}, column {column + 1}: {message}")

    def startElement(self, name: str, attrs: Any) -> None:
        allowed = INSIDE.get(self.stack[-1], set())
        if name not in allowed:
            wanted = " or ".join(f"<{tag}>" for tag in sorted(allowed)) or f"text and then </{self.stack[-1]}>"
            self.fail(f"expected {wanted}, found <{name[:40]}>")
        if name == "VARIABLE" and attrs.get("TYPE", "nature") != "nature":
            self.fail(f'expected a variable of TYPE="nature", found {attrs["TYPE"]!r}')
        if name in ("VARIABLE", "DEFINITION"):
            self.parts = {}
        self.stack.append(name)
        self.text = []
        self.keep = attrs.get("xml:space") == "preserve"

    def characters(self, content: str) -> None:
        self.text.append(content)

    def endElement(self, name: str) -> None:
        self.stack.pop()
        text = "".join(self.text)
        text = text if self.keep else text.strip()
        self.text, self.keep = [], False
        if name == "NAME" and self.stack[-1] == "NETWORK":
            self.found.name = text
        elif name == "VARIABLE":
            self.found.add_variable(
                self._one("NAME"), self.parts.get("OUTCOME") or self.parts.get("VALUE", []), self.fail
            )
        elif name == "DEFINITION":
            self._definition()
        elif name not in ("BIF", "NETWORK", "PROPERTY"):
            self.parts.setdefault(name, []).append(text)

    def _one(self, tag: str) -> str:
        texts = self.parts.get(tag, [])
        if len(texts) != 1:
            self.fail(f"expected one <{tag}> here, found {len(texts)}")
        return texts[0]

    def _definition(self) -> None:
        child = self._one("FOR")
        shape = self.found.add_family(child, self.parts.get("GIVEN", []), self.fail)
        words = itertools.islice(re.finditer(r"\S+", self._one("TABLE")), math.prod(shape) + 1)
        self.found.add_table(child, [self._number(word.group()) for word in words], self.fail)

    def _number(self, word: str) -> float:
        try:
            value = float(word) if "_" not in word else math.nan
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            self.fail(f"expected a probability in the table above, found {word[:40]!r}")
        return value


def render(network: Description) -> str:
    """The text of a file; every digit kept."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<BIF VERSION="0.3">',
        "<NETWORK>",
        _element("NAME", network.name),
    ]
    for name, states in network.states.items():
        lines += ['<VARIABLE TYPE="nature">', _element("NAME", name), *(_element("OUTCOME", s) for s in states)]
        lines.append("</VARIABLE>")
    for child, parents in network.parents.items():
        numbers = " ".join(map(written, network.tables[child]))
        lines += ["<DEFINITION>", _element("FOR", child), *(_element("GIVEN", p) for p in parents)]
        lines += [f"  <TABLE>{numbers}</TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>"]) + "\n"


def _element(tag: str, text: str) -> str:
    bad = UNWRITABLE.search(text)
    if bad:
        raise FormatError(
            f"XML cannot hold the character {bad.group()!r} of {text!r}; write another format or rename it"
        )
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f"  <{tag}{space}>{escape(text, {chr(13): '&#13;'})}</{tag}>"
