"""Programs with variables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import index
from typing import Any, Dict, List, Mapping, Tuple

from ._errors import Diagnostic, failure
from ._program import Program, program
from ._source import Instruction

__all__ = ["Patch", "Template", "Variable"]


@dataclass(frozen=True)
class Variable:
    """A value that is known only when a filter is installed."""

    name: str
    bits: int
    """32 or 64."""


@dataclass(frozen=True)
class Patch:
    """An instruction whose constant depends on a variable."""

    insn: int
    """The index of the instruction."""
    variable: int
    """The index of the variable."""
    half: str
    """The half of the value that becomes the constant, low or high."""
    addend: int
    """What is added to the variable, modulo 2 ** 64."""
    complement: bool
    """Whether the bits of the sum are inverted."""


@dataclass(frozen=True, repr=False)
class Template:
    """A program with variables, proved for all of their values.

    It cannot be installed; `instantiate` makes a Program.
    """

    variables: Tuple[Variable, ...]
    patches: Tuple[Patch, ...]
    _program: Program = field(repr=False)

    @property
    def insns(self) -> Tuple[Instruction, ...]:
        """The instructions; the constants of those with a patch mean nothing."""
        return self._program.insns

    @property
    def warnings(self) -> Tuple[Diagnostic, ...]:
        """The messages about the source that are not errors."""
        return self._program.warnings

    def instantiate(self, /, **values: int) -> Program:
        """The program for these values of the variables, without compiling again.

        Raises CallgateError if a value is missing, unknown or too large.
        """
        self._check(values)
        insns: List[Instruction] = list(self._program.insns)
        for patch in self.patches:
            value = index(values[self.variables[patch.variable].name]) + patch.addend & 2**64 - 1
            value = ~value if patch.complement else value
            k = (value >> 32 if patch.half == "high" else value) & 2**32 - 1
            insns[patch.insn] = insns[patch.insn]._replace(k=k)
        instance = tuple(insns)
        # The template was proved for all values.
        return replace(self._program, insns=instance, _proved_insns=instance)

    def _check(self, values: Mapping[str, int]) -> None:
        names = [variable.name for variable in self.variables]
        for name in values:
            if name not in names:
                raise failure(f"no variable `{name}`", f"the variables are {', '.join(names) or 'none'}")
        for variable in self.variables:
            if variable.name not in values:
                raise failure(f"`{variable.name}` has no value")
            if not 0 <= index(values[variable.name]) < 1 << variable.bits:
                given = f"{values[variable.name]:#x}"
                raise failure(f"{given} does not fit into `{variable.name}`, which has {variable.bits} bits")

    def __repr__(self) -> str:
        names = ", ".join(variable.name for variable in self.variables)
        return f"<callgate.Template {self._program.name!r}: {len(self.insns)} instructions, variables: {names}>"


def template(result: Dict[str, Any], warnings: Tuple[Diagnostic, ...]) -> Template:
    """The template in an answer."""
    variables = tuple(Variable(**one) for one in result["variables"])
    patches = tuple(Patch(**{**one, "addend": int(one["addend"], 16)}) for one in result["patches"])
    return Template(variables, patches, program(result, warnings))
