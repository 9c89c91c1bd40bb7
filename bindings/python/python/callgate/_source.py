"""Sources: filters in any form, with the options of their reading."""

from __future__ import annotations

import json
import operator
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _native
from ._engine import MAX_REQUEST, checked_text
from ._errors import failure
from ._options import COMPILING, READING, SourceOptions, check_names

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Instruction", "Source", "SourceLike", "expression", "preset"]

# Words with operators between them, which no text of a filter consists of.
EXPRESSION = re.compile(r"\s*[^\s{}]+(\s+[-+^]\s+[^\s{}]+)+\s*")
# The options of an expression that are also for its sources.
SHARED = frozenset(
    [
        "arches", "caps", "crun", "define", "enosys_above", "kernel", "libseccomp", "minijail_semantics", "runc", "strict", "systemd",
        "undefine",
    ]
)


class Instruction(NamedTuple):
    """A classic BPF instruction, with the fields of struct sock_filter."""

    code: int
    jt: int
    jf: int
    k: int


class AsSource:
    """What is a source as it is: instructions with their name and options."""

    def _as_source(self) -> Tuple[Tuple[Instruction, ...], str, Dict[str, Any]]:
        raise NotImplementedError


class Source:
    """A filter with the options of its reading (SourceOptions). Functions take it wherever they take a profile.

    The filter is

    - the text of a profile or of a program, as str or bytes: a Docker, Podman, runc or crun profile, a Kubernetes
      resource, a Kafel, minijail or LXC policy, Firecracker, snap or Android filters, a systemd unit, or a listing;
    - a path (pathlib.Path), for the text in the file;
    - a dict: a profile in JSON after json.loads, such as linux.seccomp of a container;
    - a program: a Program, a list of instructions (code, jt, jf, k), or their bytes;
    - or another Source, whose options are overridden.
    """

    __slots__ = ("_content", "_name", "_operands", "_options")
    _content: Tuple[str, Any]
    _name: str
    _operands: Dict[str, Source]
    _options: Dict[str, Any]

    def __init__(self, filter: SourceLike, **options: Unpack[SourceOptions]) -> None:
        check_names(options, READING)
        # None is the default, so that programs can pass on what they may not have.
        given = {key: value for key, value in options.items() if value is not None}
        self._operands, self._options = {}, {}
        self._name = str(given.get("name", ""))
        if isinstance(filter, Source):
            self._content, self._operands, self._options = filter._content, filter._operands, dict(filter._options)
            self._name = self._name or filter._name
        elif isinstance(filter, (str, bytes)):
            if isinstance(filter, str) and "\n" not in filter and os.path.isfile(filter):
                raise failure(f"{filter!r} is the name of a file, not a filter", "give pathlib.Path(...)")
            if isinstance(filter, str) and EXPRESSION.fullmatch(filter):
                raise failure(f"{filter!r} is an expression, not a filter", "give callgate.expression(...)")
            self._set_text(filter)
        elif isinstance(filter, (bytearray, memoryview)):
            self._set_text(bytes(filter))
        elif isinstance(filter, os.PathLike):
            self._name = self._name or str(os.fspath(filter))
            with open(filter, "rb") as file:
                self._set_text(file.read(MAX_REQUEST + 1))
        elif isinstance(filter, Mapping):
            self._set_text(json.dumps(dict(filter)))
        elif isinstance(filter, AsSource):
            insns, name, self._options = filter._as_source()
            self._content, self._name = ("insns", insns), self._name or name
        elif isinstance(filter, Sequence):
            self._set_insns(filter)
        else:
            raise TypeError(f"a filter is a text, a path, a dict or a program, not {type(filter).__name__}")
        self._options.update((key, value) for key, value in given.items() if key != "name")
        files = self._options.get("files")
        if files is not None:
            if not isinstance(files, Mapping):
                raise TypeError(f"files are a dict of names and texts, not {type(files).__name__}")
            self._options["files"] = {str(name): checked_text(text, str(name)) for name, text in files.items()}

    def _set_text(self, text: Union[str, bytes]) -> None:
        # Each instruction of a program has a zero byte, because codes are less than 256; no text has one.
        if isinstance(text, bytes) and b"\0" in text:
            self._content = ("hex", text[: MAX_REQUEST + 1].hex())
            self._name = self._name or "program"
        else:
            self._name = self._name or "profile"
            self._content = ("text", checked_text(text, self._name))

    def _set_insns(self, insns: Any) -> None:
        self._content = ("insns", tuple(tuple(map(operator.index, insn)) for insn in insns))
        self._name = self._name or "program"

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in sorted(self._options.items()))
        return f"<callgate.Source {self._name!r}: {self._content[0]}{options}>"

    def _machine(self) -> Optional[str]:
        return self._options.get("machine")

    def _request(self, default_name: Optional[str] = None) -> Dict[str, Any]:
        """The source in a request; the kernel version is that of this machine unless it is given."""
        key, content = self._content
        name = self._name
        if default_name is not None and name in ("profile", "program"):
            name = default_name
        request = {key: content, "name": name}
        request.update((key, value) for key, value in self._options.items() if key != "machine")
        if "kernel" not in request:
            request.update(running_kernel())
        if self._operands:
            shared = {key: value for key, value in self._options.items() if key in SHARED}
            request["sources"] = {key: one._with_defaults(shared)._request(key) for key, one in self._operands.items()}
        return request

    def _with_defaults(self, options: Mapping[str, Any]) -> Source:
        """The same source with these options, unless it has its own."""
        source = Source(self)
        source._options = {**options, **self._options}
        return source


SourceLike = Union[
    str, bytes, bytearray, "os.PathLike[str]", Mapping[str, Any], Sequence[Tuple[int, int, int, int]], AsSource, Source
]


def preset(name: str, /, **options: Unpack[SourceOptions]) -> Source:
    """The filter of a preset or built-in profile, such as no-ptrace, container-default or docker-default@28."""
    source = Source("", **options)
    source._name = source._name if "name" in options else f"preset:{name}"
    source._content = ("preset", name)
    return source


def expression(
    text: str, /, *, sources: Optional[Mapping[str, SourceLike]] = None, **options: Unpack[SourceOptions]
) -> Source:
    """A combination of filters, such as "app + ptrace - preset:no-io-uring".

    Its names are those of `sources`, of presets and of syscalls. The options are for the presets, and for the sources that do
    not have their own.

    From left to right, + allows what the next term allows as well, - removes it, and ^ restricts to what both allow. Removed
    syscalls get the default verdict of the first source, or that of the term: "app - mount:ENOSYS".
    """
    source = Source("", **options)
    source._name = source._name if "name" in options else text
    source._content = ("expression", text)
    source._operands = {str(name): Source(one) for name, one in (sources or {}).items()}
    return source


def running_kernel() -> Dict[str, str]:
    """The version of the running kernel, such as 6.12."""
    found = re.match(r"\d+\.\d+", os.uname().release) if sys.platform == "linux" else None
    return {"kernel": found[0]} if found else {}


def request_of(kind: str, sources: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
    """A request about one or several sources (SourceLike), whose options are overridden by these."""
    can_compile = kind not in ("explain", "lint", "diff", "subset")
    check_names(options, READING | COMPILING if can_compile else READING)
    reading: Any = {key: value for key, value in options.items() if key in READING}
    compiling = {key: value for key, value in options.items() if key in COMPILING and value is not None}
    request: Dict[str, Any] = {"request": kind}
    all_sources: List[Source] = []
    for key, given in sources.items():
        if key == "sources":
            many = [Source(one, **reading) for one in given]
            request[key] = [one._request() for one in many]
            all_sources += many
        else:
            one = Source(given, **reading)
            request[key] = one._request(None if key == "source" else key)
            all_sources.append(one)
    machines = [machine for machine in map(Source._machine, all_sources) if machine]
    request["machine"] = machines[0] if machines else _native.MACHINE
    if compiling:
        request["options"] = compiling
    return request
