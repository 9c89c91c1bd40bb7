//! Resolution of an argument to tests on `seccomp_data`, for a syscall of an architecture.
//!
//! Where registers have 32 bits, the high word of an argument is always zero. Values of up to 32 bits are compared with
//! the low word, larger values with both words, so that `count <= 1 << 40` holds.

use super::arg::{Arg, Place, Width};
use super::error::RuleErrorKind;
use super::value::ArgValue;
use super::variable::{Comparand, Kind, Var};
use callgate_bpf::SyscallTable;
use callgate_core::Arch;
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Test, VariableRelation, VariableTest,
};
use callgate_core::template::VariableList;

/// The comparison of an argument.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Any,
    Compare(Cmp, Comparand),
    In(Vec<Comparand>),
    Range { first: Option<ArgValue>, last: Option<ArgValue> },
    BitsWithin(Comparand),
    AllBits(ArgValue),
    AnyBit(Comparand),
    NonNegative,
}

/// The bits of an argument that are compared.
pub(super) struct Operand<'a> {
    /// The name in messages.
    name: &'a Place,
    field: Field,
    /// The width, 32 or 64, to which negative values are extended.
    bits: u8,
    /// Both words, where registers have 32 bits.
    extended: Option<Field>,
    mask: Option<u64>,
    /// Where the arguments that it is compared with are.
    arch: Arch,
    syscall: Option<&'a str>,
}

impl<'a> Operand<'a> {
    /// `syscall` is the name; `None` for a number without a name.
    pub(super) fn of(
        arg: &'a Arg,
        arch: Arch,
        syscall: Option<&'a str>,
    ) -> Result<Operand<'a>, RuleErrorKind> {
        let (field, read) = match &arg.place {
            Place::InstructionPointer => (Some(Field::instruction_pointer()), Some(64)),
            Place::Name(name) => {
                let syscall =
                    syscall.ok_or_else(|| RuleErrorKind::NoSignature { name: name.clone() })?;
                let place = arch.argument(syscall, name)?;
                (Field::arg(place.index), place.bits)
            }
            Place::Number(number) => {
                let number = u32::try_from(*number).unwrap_or(u32::MAX);
                // No syscall has the empty name: its arguments are unknown.
                let place = arch.argument_at(syscall.unwrap_or_default(), number)?;
                (Field::arg(place.index), place.bits)
            }
        };
        let field = field.ok_or(RuleErrorKind::Defect("an argument has no field"))?;
        let narrow = !arch.has_wide_registers() && !matches!(arg.place, Place::InstructionPointer);
        let bits = match (arg.width, read) {
            (Width::Low32, _) => 32,
            _ if narrow => 32,
            (Width::U64, _) => 64,
            (Width::Kernel, Some(bits)) => bits,
            (Width::Kernel, None) => {
                return Err(RuleErrorKind::UnknownWidth { argument: arg.place.to_string() });
            }
        };
        let extended = (narrow && arg.width != Width::Low32).then_some(field);
        let field = if bits == 32 { field.low32() } else { field };
        let name = &arg.place;
        let mut operand = Operand { name, field, bits, extended, mask: None, arch, syscall };
        operand.mask = arg.mask.map(|mask| operand.mask_of(mask)).transpose()?;
        Ok(operand)
    }

    /// The condition of a matcher.
    pub(super) fn resolve(
        &self,
        matcher: &Matcher,
        variables: &mut VariableList,
    ) -> Result<Condition, RuleErrorKind> {
        let mut compare = |cmp, comparand: &Comparand| self.compare(cmp, comparand, variables);
        Ok(match matcher {
            Matcher::Any => Condition::always(),
            Matcher::Compare(cmp, comparand) => compare(*cmp, comparand)?,
            Matcher::In(values) => {
                let mut any = Vec::with_capacity(values.len());
                for value in values {
                    any.push(compare(Cmp::Eq, value)?);
                }
                Condition::any(any)
            }
            Matcher::Range { first, last } => {
                let start = first.unwrap_or(ArgValue(0));
                if let Some(last) = last.filter(|last| *last < start) {
                    return Err(RuleErrorKind::EmptyRange { first: start, last });
                }
                let mut both = Vec::new();
                for (cmp, bound) in [(Cmp::Ge, first), (Cmp::Le, last)] {
                    if let Some(bound) = bound {
                        both.push(self.test(self.mask, cmp, self.unsigned(*bound)?));
                    }
                }
                Condition::all(both)
            }
            Matcher::BitsWithin(Comparand(Kind::Variable(allowed))) => {
                self.variable(VariableRelation::NoBit, &!allowed.clone(), variables)?
            }
            Matcher::BitsWithin(Comparand(Kind::Constant(allowed))) => {
                let others = !self.value(*allowed)? & self.full() & self.mask.unwrap_or(u64::MAX);
                match others {
                    0 => Condition::always(),
                    others => self.test(Some(others), Cmp::Eq, 0),
                }
            }
            Matcher::BitsWithin(Comparand(Kind::Argument(_))) => return Err(self.part()),
            Matcher::AnyBit(Comparand(Kind::Argument(other))) => {
                self.argument(VariableRelation::AnyBit, other)?
            }
            Matcher::AllBits(bits) => {
                self.mask_of(*bits)?;
                let bits = self.within_mask(*bits)?;
                self.test(Some(bits), Cmp::Eq, bits)
            }
            Matcher::AnyBit(Comparand(Kind::Variable(bits))) => {
                self.variable(VariableRelation::AnyBit, bits, variables)?
            }
            Matcher::AnyBit(Comparand(Kind::Constant(bits))) => {
                self.mask_of(*bits)?;
                self.test(Some(self.within_mask(*bits)?), Cmp::Ne, 0)
            }
            Matcher::NonNegative => {
                let sign = 1 << (self.bits - 1);
                self.within_mask(ArgValue(i128::from(sign)))?;
                self.test(Some(sign), Cmp::Eq, 0)
            }
        })
    }

    /// `operand cmp comparand`.
    fn compare(
        &self,
        cmp: Cmp,
        comparand: &Comparand,
        variables: &mut VariableList,
    ) -> Result<Condition, RuleErrorKind> {
        let value = match (&comparand.0, cmp) {
            (Kind::Variable(variable), _) => {
                return self.variable(VariableRelation::Cmp(cmp), variable, variables);
            }
            (Kind::Argument(other), _) => {
                return self.argument(VariableRelation::Cmp(cmp), other);
            }
            (Kind::Constant(value), Cmp::Eq | Cmp::Ne) => self.within_mask(*value)?,
            (Kind::Constant(value), _) => self.unsigned(*value)?,
        };
        Ok(self.test(self.mask, cmp, value))
    }

    /// `operand relation variable`.
    fn variable(
        &self,
        relation: VariableRelation,
        variable: &Var,
        variables: &mut VariableList,
    ) -> Result<Condition, RuleErrorKind> {
        let symbol = variable.symbol(variables).map_err(RuleErrorKind::Variable)?;
        if self.field.high_word().is_some() {
            variables.widen(symbol);
        }
        let test = VariableTest::new(self.field, relation, symbol);
        Ok(test.masked(self.mask.unwrap_or(u64::MAX)).into())
    }

    /// `operand relation argument`, both as the kernel reads them: 32 bits are extended by zeros.
    fn argument(
        &self,
        relation: VariableRelation,
        other: &Arg,
    ) -> Result<Condition, RuleErrorKind> {
        let other = Operand::of(other, self.arch, self.syscall)?;
        if self.mask.is_some() || other.mask.is_some() {
            return Err(self.part());
        }
        Ok(FieldTest { left: self.field, relation, right: other.field }.into())
    }

    fn part(&self) -> RuleErrorKind {
        RuleErrorKind::PartOfArgument { argument: self.name.to_string() }
    }

    /// The bits that negative values are extended to.
    fn full(&self) -> u64 {
        if self.bits == 32 { u64::from(u32::MAX) } else { u64::MAX }
    }

    /// A value at the width of the operand.
    fn value(&self, given: ArgValue) -> Result<u64, RuleErrorKind> {
        let limit = if self.extended.is_some() { u64::MAX } else { self.full() };
        let smallest = -(1i128 << (self.bits - 1));
        if given.0 > i128::from(limit) || given.0 < smallest {
            let (argument, bits) = (self.name.to_string(), self.bits);
            return Err(RuleErrorKind::DoesNotFit { given, argument, bits });
        }
        Ok(if given.0 < 0 { given.0 as u64 & self.full() } else { given.0 as u64 })
    }

    /// The value of an order comparison, which is unsigned.
    fn unsigned(&self, given: ArgValue) -> Result<u64, RuleErrorKind> {
        if given.0 < 0 {
            return Err(RuleErrorKind::Signed { given, argument: self.name.to_string() });
        }
        self.value(given)
    }

    /// A value or bits within the mask of the operand.
    fn within_mask(&self, given: ArgValue) -> Result<u64, RuleErrorKind> {
        let value = self.value(given)?;
        match self.mask {
            Some(mask) if value & !mask != 0 => Err(RuleErrorKind::OutsideMask {
                given: ArgValue(value.into()),
                mask: ArgValue(mask.into()),
            }),
            _ => Ok(value),
        }
    }

    fn mask_of(&self, given: ArgValue) -> Result<u64, RuleErrorKind> {
        match self.value(given)? {
            0 => Err(RuleErrorKind::EmptyMask { argument: self.name.to_string() }),
            mask => Ok(mask),
        }
    }

    /// `(operand & mask) cmp value`.
    fn test(&self, mask: Option<u64>, cmp: Cmp, value: u64) -> Condition {
        let large = value.max(mask.unwrap_or(0)) > u64::from(u32::MAX);
        let field = self.extended.filter(|_| large).unwrap_or(self.field);
        let mask = mask.unwrap_or(u64::MAX) & field.full_mask();
        Condition::test(Test { field, mask, cmp, value })
    }
}
