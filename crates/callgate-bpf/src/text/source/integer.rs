//! Integers of C: types, conversions and operators, as gcc computes them (C17, 6.3.1).
//!
//! In Rust and Go, numbers without a type have any value here, and what does not fit is refused.

use callgate_core::Arch;

/// A type of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// The rank: char, short, int, long, long long.
    rank: u8,
    bits: u8,
    is_signed: bool,
}

impl Type {
    pub(super) const INT: Type = Type { rank: 3, bits: 32, is_signed: true };
    pub(super) const UNSIGNED: Type = Type { rank: 3, bits: 32, is_signed: false };
    pub(super) const LONG_LONG: Type = Type { rank: 5, bits: 64, is_signed: true };
    pub(super) const UNSIGNED_LONG_LONG: Type = Type { rank: 5, bits: 64, is_signed: false };
    /// `_Bool`, to which everything but 0 is converted as 1.
    pub(super) const BOOL: Type = Type { rank: 0, bits: 1, is_signed: false };

    pub(super) const fn new(rank: u8, bits: u8, is_signed: bool) -> Type {
        Type { rank, bits, is_signed }
    }

    pub(super) fn bits(self) -> u8 {
        self.bits
    }

    pub(super) fn is_signed(self) -> bool {
        self.is_signed
    }

    /// The number of bytes.
    pub(super) fn size(self) -> i128 {
        i128::from(self.bits.div_ceil(8))
    }

    /// Whether values of this type have a number.
    pub(super) fn holds(self, number: i128) -> bool {
        self.wrap(number) == number
    }

    /// The number, converted modulo 2^bits.
    fn wrap(self, number: i128) -> i128 {
        if self == Type::BOOL {
            return i128::from(number != 0);
        }
        let range = 1i128 << self.bits;
        let low = number & (range - 1);
        if self.is_signed && low >= range / 2 { low - range } else { low }
    }

    /// The type after integer promotion.
    fn promoted(self) -> Type {
        if self.rank < Type::INT.rank { Type::INT } else { self }
    }

    /// The type of both operands after the usual arithmetic conversions.
    fn common(self, other: Type) -> Type {
        let (a, b) = (self.promoted(), other.promoted());
        let (higher, lower) = if a.rank >= b.rank { (a, b) } else { (b, a) };
        if higher.is_signed == lower.is_signed || !higher.is_signed || higher.bits > lower.bits {
            return higher;
        }
        Type { is_signed: false, ..higher }
    }
}

/// The sizes of types, which follow from the architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// The number of bits of `long`, `size_t` and pointers.
    pub(super) long_bits: u8,
    /// Whether the architecture decides it.
    pub(super) is_known: bool,
    /// Whether `char` is signed, if that is known.
    pub(super) is_char_signed: Option<bool>,
}

impl Model {
    pub(super) fn of(arch: Option<Arch>) -> Model {
        let is_unsigned = |arch: Arch| {
            let start = ["arm", "aarch64", "ppc", "riscv", "s390"];
            start.iter().any(|start| arch.name().starts_with(start))
        };
        Model {
            long_bits: if arch.is_none_or(Arch::is_64bit) { 64 } else { 32 },
            is_known: arch.is_some(),
            is_char_signed: arch.map(|arch| !is_unsigned(arch)),
        }
    }

    pub(super) fn long(self, is_signed: bool) -> Type {
        Type { rank: 4, bits: self.long_bits, is_signed }
    }

    /// `size_t`, the type of `sizeof` and `offsetof`.
    pub(super) fn size(self) -> Type {
        match self.long_bits {
            64 => self.long(false),
            _ => Type::UNSIGNED,
        }
    }
}

/// How much is known about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// The number and the type.
    Yes,
    /// The number, if all types of 32 bits or more can hold it; otherwise its low 32 bits. The type differs between headers.
    Low,
    /// The low 32 bits: the number was computed from a number of which only the low 32 bits are known.
    LowOnly,
    /// Nothing: a condition depends on a name that is not known.
    No,
}

/// A value: a number that its type has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) number: i128,
    /// `None` for a number without a type in Rust or Go.
    pub(super) kind: Option<Type>,
    pub(super) sure: Sure,
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    BitClear,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// The largest number that every type of 32 bits has.
const MAX_INT: i128 = 0x7fff_ffff;

impl Value {
    /// A number of a type.
    pub(super) fn of(number: i128, kind: Type) -> Value {
        Value { number: kind.wrap(number), kind: Some(kind), sure: Sure::Yes }
    }

    /// A number without a type.
    pub(super) fn untyped(number: i128) -> Value {
        Value { number, kind: None, sure: Sure::Yes }
    }

    /// A constant of the kernel, whose type depends on the headers.
    pub(super) fn of_headers(number: i128) -> Value {
        let types = [Type::INT, Type::UNSIGNED, Type::LONG_LONG, Type::UNSIGNED_LONG_LONG];
        let kind = types.into_iter().find(|kind| kind.holds(number)).unwrap_or(Type::LONG_LONG);
        Value { sure: Sure::Low, ..Value::of(number, kind) }
    }

    /// A value about which nothing is known.
    pub(super) fn unknown() -> Value {
        Value { sure: Sure::No, ..Value::of(0, Type::LONG_LONG) }
    }

    /// The result of a comparison.
    fn truth(holds: bool, sure: Sure, int: Type) -> Value {
        Value { sure, ..Value::of(i128::from(holds), int) }
    }

    /// Whether the value is the same with all types that it may have.
    fn is_exact(self) -> bool {
        self.sure == Sure::Yes || (self.sure == Sure::Low && (0..=MAX_INT).contains(&self.number))
    }

    /// Whether this is 0, if that is known.
    pub(super) fn is_zero(self) -> Option<bool> {
        (self.sure <= Sure::Low).then_some(self.number == 0)
    }

    /// How sure what is computed from this value is.
    fn passes_on(self) -> Sure {
        if self.sure == Sure::Low && !self.is_exact() { Sure::LowOnly } else { self.sure }
    }

    /// The conversion to a type.
    pub(super) fn converted(self, kind: Type) -> Value {
        let keeps_low = self.sure < Sure::No && kind.bits <= 32 && kind != Type::BOOL;
        let sure = if keeps_low || self.is_exact() { Sure::Yes } else { self.passes_on() };
        Value { sure, ..Value::of(self.number, kind) }
    }

    /// The conversion to the common type of several values.
    pub(super) fn converted_to_wider(self, kind: Type) -> Value {
        Value { sure: self.passes_on(), ..Value::of(self.number, kind) }
    }

    /// The operand after promotion.
    fn promoted(self) -> Value {
        match self.kind {
            Some(kind) => Value { kind: Some(kind.promoted()), ..self },
            None => self,
        }
    }

    /// `-`, `~` (`!` of Rust, `^` of Go).
    pub(super) fn negated(self, is_complement: bool) -> Value {
        let operand = self.promoted();
        let number = if is_complement { !operand.number } else { -operand.number };
        match operand.kind {
            Some(kind) => Value { sure: operand.passes_on(), ..Value::of(number, kind) },
            None => Value { number, ..operand },
        }
    }

    /// `!` of C; `int` is the type of truth values.
    pub(super) fn not(self, int: Type) -> Value {
        let sure = if self.is_zero().is_some() { Sure::Yes } else { Sure::No };
        Value::truth(self.number == 0, sure, int)
    }

    /// The result of an operator.
    ///
    /// # Errors
    /// Why it has none.
    pub(super) fn apply(self, operator: Binary, other: Value, int: Type) -> Result<Value, String> {
        match (self.kind, other.kind) {
            (Some(a), Some(b)) => self.apply_typed(operator, other, (a, b), int),
            _ => self.apply_untyped(operator, other),
        }
    }

    fn apply_typed(
        self,
        operator: Binary,
        other: Value,
        (own, others): (Type, Type),
        int: Type,
    ) -> Result<Value, String> {
        let sure = self.passes_on().max(other.passes_on());
        let is_shift = matches!(operator, Binary::ShiftLeft | Binary::ShiftRight);
        let kind = if is_shift { own.promoted() } else { own.common(others) };
        let (a, b) = match is_shift {
            true => (self.number, other.number),
            false => (kind.wrap(self.number), kind.wrap(other.number)),
        };
        if sure == Sure::No && !matches!(operator, Binary::Or | Binary::And) {
            return Ok(Value::unknown());
        }
        let depends = || {
            Err("the result depends on the type of a constant of the headers; convert it first, as with `(unsigned)`"
                .to_owned())
        };
        let is_exact = self.is_exact() && other.is_exact();
        let result = |number: i128| {
            // With a wider type, more of the number would be left.
            let is_cut = sure == Sure::Low && !(-MAX_INT..=2 * MAX_INT + 1).contains(&number);
            Ok(Value { sure: if is_cut { Sure::LowOnly } else { sure }, ..Value::of(number, kind) })
        };
        let exact = |number| if is_exact { result(number) } else { depends() };
        let truth = |holds| {
            if is_exact { Ok(Value::truth(holds, Sure::Yes, int)) } else { depends() }
        };
        match operator {
            Binary::Or | Binary::And => {
                let is_or = operator == Binary::Or;
                // One operand may decide.
                let decides = |value: Value| value.is_zero() == Some(!is_or);
                let is_decided = decides(self) || decides(other);
                let holds = match is_or {
                    true => a != 0 || b != 0,
                    false => a != 0 && b != 0,
                };
                let is_known = self.is_zero().is_some() && other.is_zero().is_some();
                let sure = if is_known || is_decided { Sure::Yes } else { Sure::No };
                Ok(Value::truth(if is_decided { is_or } else { holds }, sure, int))
            }
            Binary::BitOr => result(a | b),
            Binary::BitXor => result(a ^ b),
            // What a positive number of 31 bits leaves does not depend on the type of the other operand.
            Binary::BitAnd => {
                let is_mask = |value: Value, number: i128| {
                    value.sure == Sure::Yes && (0..=MAX_INT).contains(&number)
                };
                let sure = if is_mask(self, a) || is_mask(other, b) { Sure::Yes } else { sure };
                Ok(Value { sure, ..Value::of(a & b, kind) })
            }
            Binary::BitClear => result(a & !b),
            Binary::Add => result(a + b),
            Binary::Subtract => result(a - b),
            Binary::Multiply => result(kind.wrap(a).wrapping_mul(kind.wrap(b))),
            Binary::Equal => truth(a == b),
            Binary::NotEqual => truth(a != b),
            Binary::Less => truth(a < b),
            Binary::LessEqual => truth(a <= b),
            Binary::Greater => truth(a > b),
            Binary::GreaterEqual => truth(a >= b),
            Binary::Divide | Binary::Remainder if b == 0 => {
                Err("this is a division by zero".to_owned())
            }
            Binary::Divide | Binary::Remainder if !kind.holds(a / b) => {
                Err("the result of this division does not fit into its type".to_owned())
            }
            Binary::Divide => exact(a / b),
            Binary::Remainder => exact(a % b),
            Binary::ShiftLeft | Binary::ShiftRight if !(0..i128::from(kind.bits)).contains(&b) => {
                Err(format!("this shifts {} bits by {b}", kind.bits))
            }
            Binary::ShiftLeft => result(kind.wrap(a) << b),
            Binary::ShiftRight => exact(a >> b),
        }
    }

    /// The complement of Rust and Go, where types are not promoted.
    pub(super) fn complement(self) -> Value {
        match self.kind {
            Some(kind) => Value { sure: self.sure, ..Value::of(!self.number, kind) },
            None => Value { number: !self.number, ..self },
        }
    }

    /// In Rust and Go. The result must fit, and operators whose result depends on a type that is not known have none.
    ///
    /// # Errors
    /// Why there is no result.
    pub(super) fn apply_untyped(self, operator: Binary, other: Value) -> Result<Value, String> {
        let (a, b) = (self.number, other.number);
        let is_shift = matches!(operator, Binary::ShiftLeft | Binary::ShiftRight);
        let kind = if is_shift { self.kind } else { self.kind.or(other.kind) };
        if !is_shift && other.kind.is_some_and(|other| kind != Some(other)) {
            return Err("the operands have different types".to_owned());
        }
        let depends = a < 0 || b < 0;
        let number = match operator {
            Binary::Or | Binary::And => {
                return Err("expected a number, found a truth value".to_owned());
            }
            Binary::BitOr => Some(a | b),
            Binary::BitXor => Some(a ^ b),
            Binary::BitAnd => Some(a & b),
            Binary::BitClear => Some(a & !b),
            Binary::Add => a.checked_add(b),
            Binary::Subtract => a.checked_sub(b),
            Binary::Multiply => a.checked_mul(b),
            Binary::Divide | Binary::Remainder if b == 0 => {
                return Err("this is a division by zero".to_owned());
            }
            Binary::Divide if !depends => Some(a / b),
            Binary::Remainder if !depends => Some(a % b),
            Binary::ShiftLeft if (0..64).contains(&b) => Some(a << b),
            Binary::ShiftRight if !depends && b < 64 => Some(a >> b),
            _ => return Err("the result depends on the types of the operands".to_owned()),
        };
        let number = number.filter(|number| number.unsigned_abs() < 1 << 64);
        let fits = |number: &i128| kind.is_none_or(|kind| kind.holds(*number));
        match number.filter(fits) {
            Some(number) => Ok(Value { number, kind, sure: self.sure.max(other.sure) }),
            None => Err("the result does not fit into its type".to_owned()),
        }
    }
}
