//! Constant expressions of Go: numbers, constants of the kernel, and operators.

use callgate_bpf::constants;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::SyscallTable;
use callgate_core::Arch;

use super::cursor::Cursor;
use super::lexer::Kind;

/// The packages with constants of the kernel.
const PACKAGES: [&str; 3] = ["unix", "linux", "syscall"];

/// Constants with other values in Go, or with values that depend on the version of a package: `O_LARGEFILE` is 0 in the first
/// two packages on architectures of 64 bits.
const OTHERS_IN_GO: [(&str, &[&str]); 5] = [
    ("O_LARGEFILE", &["unix", "syscall"]),
    ("AF_MAX", &PACKAGES),
    ("MS_RMT_MASK", &PACKAGES),
    ("PTRACE_O_MASK", &PACKAGES),
    ("RWF_SUPPORTED", &PACKAGES),
];

/// The type of a constant, which limits its values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    /// Any integer; a constant must fit where it is used.
    Untyped,
    /// `uintptr` and `uint64`, which have 64 bits on gVisor's architectures.
    Unsigned,
    /// `int` and `int64`.
    Signed,
}

/// The types to which a value may be converted.
const TYPES: [(&str, Type); 4] = [
    ("uintptr", Type::Unsigned),
    ("uint64", Type::Unsigned),
    ("int", Type::Signed),
    ("int64", Type::Signed),
];

/// A constant of Go, which is exact: Go refuses one that does not fit its type.
#[derive(Clone, Copy)]
struct Constant {
    number: i128,
    kind: Type,
}

/// An operator: `None` if the result is not a number.
type Operator = fn(i128, i128) -> Option<i128>;

/// How deep parentheses may nest.
const MAX_DEPTH: usize = 16;

/// The number of a syscall: `unix.SYS_READ`, or a number.
pub(super) fn syscall(
    cursor: &mut Cursor<'_, '_>,
    arch: Arch,
) -> Result<(String, u32), Diagnostic> {
    let at = cursor.at();
    if let Some((_, name)) = package_member(cursor) {
        let Some(upper) = name.strip_prefix("SYS_") else {
            return Err(cursor.computed(at, &format!("`{name}` is not the number of a syscall")));
        };
        let lower = upper.to_ascii_lowercase();
        // arm64 and riscv64 have the name of glibc's function.
        let lower = if lower == "fstatat" { "newfstatat".to_owned() } else { lower };
        let nr = arch.number(&lower).ok_or_else(|| {
            cursor.error(at, format!("{arch} has no syscall `{lower}`")).help(
                "read the file for another architecture (--arch), as Go's build constraints do",
            )
        })?;
        return Ok((lower, nr));
    }
    let value = value(cursor, arch)?;
    let nr = u32::try_from(value)
        .map_err(|_| cursor.error(at, format!("{value} is not the number of a syscall")))?;
    Ok((arch.syscall_name(nr).map_or_else(|| nr.to_string(), str::to_owned), nr))
}

/// A value of 64 bits.
pub(super) fn value(cursor: &mut Cursor<'_, '_>, arch: Arch) -> Result<u64, Diagnostic> {
    let at = cursor.at();
    let Constant { number, .. } = sum(cursor, arch, 0)?;
    u64::try_from(number).map_err(|_| does_not_fit(cursor, at, number))
}

fn does_not_fit(cursor: &Cursor<'_, '_>, at: usize, number: i128) -> Diagnostic {
    cursor
        .error(at, format!("{number} does not fit in 64 bits without a sign, so Go refuses it"))
        .help("write a value from 0 to 0xffffffffffffffff")
}

impl Constant {
    /// A constant of a type, if it fits.
    fn of(
        cursor: &Cursor<'_, '_>,
        at: usize,
        number: Option<i128>,
        kind: Type,
    ) -> Result<Constant, Diagnostic> {
        let fits = |number: &i128| match kind {
            Type::Untyped => true,
            Type::Unsigned => u64::try_from(*number).is_ok(),
            Type::Signed => i64::try_from(*number).is_ok(),
        };
        match number {
            Some(number) if fits(&number) => Ok(Constant { number, kind }),
            Some(number) if kind == Type::Unsigned => Err(does_not_fit(cursor, at, number)),
            _ => Err(cursor
                .error(at, "the constant overflows, so Go refuses it".to_owned())
                .help("write its value")),
        }
    }

    /// The type of both operands.
    fn common(
        self,
        other: Constant,
        cursor: &Cursor<'_, '_>,
        at: usize,
    ) -> Result<Type, Diagnostic> {
        match (self.kind, other.kind) {
            (Type::Untyped, kind) | (kind, Type::Untyped) => Ok(kind),
            (own, other) if own == other => Ok(own),
            _ => Err(cursor
                .error(at, "the operands have different types, which Go refuses".to_owned())
                .help("write the value")),
        }
    }
}

/// Operands joined by `+`, `-`, `|` and `^`.
fn sum(cursor: &mut Cursor<'_, '_>, arch: Arch, depth: usize) -> Result<Constant, Diagnostic> {
    const OPERATORS: [(&str, Operator); 4] = [
        ("|", |a, b| Some(a | b)),
        ("^", |a, b| Some(a ^ b)),
        ("+", i128::checked_add),
        ("-", i128::checked_sub),
    ];
    let mut value = product(cursor, arch, depth)?;
    loop {
        let at = cursor.at();
        let Some((_, operator)) = OPERATORS.iter().find(|(sign, _)| cursor.take(sign)) else {
            return Ok(value);
        };
        let other = product(cursor, arch, depth)?;
        let kind = value.common(other, cursor, at)?;
        value = Constant::of(cursor, at, operator(value.number, other.number), kind)?;
    }
}

/// Operands joined by `&`, `&^`, `<<`, `>>` and `*`.
fn product(cursor: &mut Cursor<'_, '_>, arch: Arch, depth: usize) -> Result<Constant, Diagnostic> {
    const OPERATORS: [(&str, Operator); 5] = [
        ("&", |a, b| Some(a & b)),
        ("&^", |a, b| Some(a & !b)),
        ("*", i128::checked_mul),
        ("<<", |a, by| a.checked_mul(1_i128.checked_shl(u32::try_from(by).ok()?)?)),
        (">>", |a, by| a.checked_shr(u32::try_from(by).ok()?)),
    ];
    let mut value = operand(cursor, arch, depth)?;
    loop {
        let at = cursor.at();
        let Some((sign, operator)) = OPERATORS.iter().find(|(sign, _)| cursor.take(sign)) else {
            return Ok(value);
        };
        let other = operand(cursor, arch, depth)?;
        // A shift has the type of what is shifted.
        let kind = match *sign {
            "<<" | ">>" => value.kind,
            _ => value.common(other, cursor, at)?,
        };
        value = Constant::of(cursor, at, operator(value.number, other.number), kind)?;
    }
}

/// A number, a constant, or an expression in parentheses, perhaps after `^` or `-`.
fn operand(cursor: &mut Cursor<'_, '_>, arch: Arch, depth: usize) -> Result<Constant, Diagnostic> {
    let at = cursor.at();
    if depth > MAX_DEPTH {
        return Err(cursor.error(at, format!("parentheses nest deeper than {MAX_DEPTH}")));
    }
    if cursor.take("^") {
        let Constant { number, kind } = operand(cursor, arch, depth + 1)?;
        let number = match kind {
            Type::Unsigned => i128::from(u64::MAX) - number,
            Type::Signed => !number,
            Type::Untyped => {
                let message = "`^` of a constant without a type is negative, so Go refuses it";
                return Err(cursor.error(at, message.to_owned()).help("write `^uintptr(…)`"));
            }
        };
        return Constant::of(cursor, at, Some(number), kind);
    }
    if cursor.take("-") {
        let Constant { number, kind } = operand(cursor, arch, depth + 1)?;
        return Constant::of(cursor, at, number.checked_neg(), kind);
    }
    if cursor.take("(") {
        let value = sum(cursor, arch, depth + 1)?;
        cursor.expect(")")?;
        return Ok(value);
    }
    if let Some((package, name)) = package_member(cursor) {
        if let Some(text) = cursor.defined(name) {
            return defined(cursor, at, name, text);
        }
        let is_other =
            OTHERS_IN_GO.iter().any(|(own, packages)| *own == name && packages.contains(&package));
        if is_other {
            let message = format!("`{package}.{name}` may have another value in Go than in C");
            return Err(cursor.error(at, message).help(or_define(name)));
        }
        let found = constants::value(arch, name).ok_or_else(|| {
            let message = match constants::is_name(name) {
                true => format!("`{name}` does not exist on {arch}"),
                false => format!("`{name}` is not a constant of the kernel that is known"),
            };
            cursor.error(at, message).help(or_define(name))
        })?;
        // A negative constant, such as AT_FDCWD, is sign-extended in the tables.
        let number = i128::from(found as i64);
        return Ok(Constant { number, kind: Type::Untyped });
    }
    match cursor.next() {
        Some(token) if token.kind == Kind::Number => {
            let number = number(token.text).ok_or_else(|| {
                cursor.error(at, format!("`{}` is not an integer of Go", token.text))
            })?;
            Constant::of(cursor, at, Some(number), Type::Untyped)
        }
        Some(token) => {
            let kind = TYPES.iter().find(|(name, _)| *name == token.text);
            match kind.filter(|_| cursor.take("(")) {
                Some((_, kind)) => {
                    let Constant { number, .. } = sum(cursor, arch, depth + 1)?;
                    cursor.expect(")")?;
                    Constant::of(cursor, at, Some(number), *kind)
                }
                None if token.kind == Kind::Word && !is_part(cursor) => {
                    match cursor.defined(token.text) {
                        Some(text) => defined(cursor, at, token.text, text),
                        None => Err(cursor.computed_name(at, token.text)),
                    }
                }
                None => Err(cursor.computed(at, &format!("`{}` is computed", token.text))),
            }
        }
        None => Err(cursor.error(at, "the text ends in a value".to_owned())),
    }
}

/// What to do about a constant whose value is not known.
fn or_define(name: &str) -> String {
    format!("write its value, or give it (--define {name}=NUMBER)")
}

/// Whether a name that was read continues as a call, an element, or a member of what it names.
fn is_part(cursor: &Cursor<'_, '_>) -> bool {
    cursor.rest().first().is_some_and(|next| ["(", "[", "."].iter().any(|sign| next.is(sign)))
}

/// The value that the caller gave to a name: a number, perhaps after `-`.
fn defined(
    cursor: &Cursor<'_, '_>,
    at: usize,
    name: &str,
    text: &str,
) -> Result<Constant, Diagnostic> {
    let text = text.trim();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let number = number(digits).map(|number| if is_negative { -number } else { number });
    let Some(number) = number else {
        let message = format!("the value given to `{name}` is not an integer of Go: {text}");
        return Err(cursor.error(at, message).help(format!("give a number: --define {name}=1")));
    };
    Constant::of(cursor, at, Some(number), Type::Untyped)
}

/// The package `unix`, `linux` or `syscall`, and the name after it.
fn package_member<'t>(cursor: &mut Cursor<'_, 't>) -> Option<(&'t str, &'t str)> {
    let [package, dot, name, ..] = cursor.rest() else { return None };
    let is_member = PACKAGES.contains(&package.text) && dot.is(".") && name.kind == Kind::Word;
    let found = (package.text, name.text);
    is_member.then(|| {
        cursor.skip(3);
        found
    })
}

/// A number as Go writes it: decimal, `0x`, `0o` or `0`, `0b`, with a `_` between digits or after the prefix.
fn number(text: &str) -> Option<i128> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match lower.get(..2) {
        Some("0x") => (lower.get(2..)?, 16),
        Some("0o") => (lower.get(2..)?, 8),
        Some("0b") => (lower.get(2..)?, 2),
        _ if lower.len() > 1 && lower.starts_with('0') => (lower.get(1..)?, 8),
        _ => (lower.as_str(), 10),
    };
    let is_prefixed = radix != 10;
    let digits = digits.strip_prefix('_').filter(|_| is_prefixed).unwrap_or(digits);
    if digits.split('_').any(str::is_empty) {
        return None;
    }
    i128::from_str_radix(&digits.replace('_', ""), radix).ok()
}
