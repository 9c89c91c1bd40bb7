"""Requests to the native library."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional, Tuple, Union

from . import _native
from ._errors import CallgateError, Diagnostic, diagnostics, failure

__all__ = ["MAX_REQUEST", "answer", "ask", "checked_text"]

# The maximum size of a request in bytes, as in the library.
MAX_REQUEST = 32 << 20


def answer(request: Union[str, bytes]) -> str:
    """The answer to a request, both JSON text; the crate callgate-requests documents them."""
    if isinstance(request, str):
        request = checked_text(request, None).encode()
    elif not isinstance(request, bytes):
        raise TypeError(f"a request is str or bytes, not {type(request).__name__}")
    check_size(len(request))
    return _native.answer(request)


def ask(request: Dict[str, Any]) -> Tuple[Dict[str, Any], Tuple[Diagnostic, ...]]:
    """The result of a request, and warnings.

    Raises CallgateError if there is none.
    """
    try:
        text = json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise failure("a text in the request has a lone surrogate, which is not a character") from error
    check_size(len(text))
    decoded = json.loads(_native.answer(text))
    if "result" not in decoded:
        raise CallgateError(diagnostics(decoded["errors"]))
    return decoded["result"], diagnostics(decoded["warnings"])


def check_size(size: int, name: Optional[str] = None) -> None:
    """Raises CallgateError for what is larger than a request may be."""
    if size > MAX_REQUEST:
        raise failure(f"the request has {size} bytes, the maximum is {MAX_REQUEST}", source=name)


def checked_text(text: Union[str, bytes], name: Optional[str]) -> str:
    """A text that JSON can hold.

    Raises CallgateError with the position of the first byte or character that cannot be part of it.
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}")
    check_size(len(text), name)
    try:
        if isinstance(text, bytes):
            return text.decode()
        text.encode()
        return text
    except UnicodeDecodeError as error:
        assert isinstance(text, bytes)
        before = text[: error.start].decode()
        wrong = f"invalid UTF-8: byte {error.start} is {text[error.start]:#04x}"
        help = "give a program as a list of instructions, and a text in UTF-8"
    except UnicodeEncodeError as error:
        assert isinstance(text, str)
        before = text[: error.start]
        wrong = f"U+{ord(text[error.start]):04X} is half of a surrogate pair, not a character"
        help = "decode the text from UTF-8 without surrogateescape"
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    raise CallgateError([Diagnostic("error", wrong, help, name, line, column)])
