//! Constant expressions of Go: numbers, constants of the kernel, and operators.

use callgate_bpf::constants;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::SyscallTable;
use callgate_core::Arch;

use super::cursor::Cursor;
use super::lexer::Kind;

/// The packages with constants of the kernel.
const PACKAGES: [&str; 3] = ["unix", "linux", "syscall"];

/// Types to which a value may be converted without a change.
const TYPES: [&str; 4] = ["uintptr", "uint64", "int", "int64"];

/// How deep parentheses may nest.
const MAX_DEPTH: usize = 16;

/// The number of a syscall: `unix.SYS_READ`, or a number.
pub(super) fn syscall(
    cursor: &mut Cursor<'_, '_>,
    arch: Arch,
) -> Result<(String, u32), Diagnostic> {
    let at = cursor.at();
    if let Some(name) = package_member(cursor) {
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
    sum(cursor, arch, 0)
}

/// Operands joined by `+`, `-`, `|` and `^`.
fn sum(cursor: &mut Cursor<'_, '_>, arch: Arch, depth: usize) -> Result<u64, Diagnostic> {
    let mut value = product(cursor, arch, depth)?;
    loop {
        value = if cursor.take("|") {
            value | product(cursor, arch, depth)?
        } else if cursor.take("^") {
            value ^ product(cursor, arch, depth)?
        } else if cursor.take("+") {
            value.wrapping_add(product(cursor, arch, depth)?)
        } else if cursor.take("-") {
            value.wrapping_sub(product(cursor, arch, depth)?)
        } else {
            return Ok(value);
        };
    }
}

/// Operands joined by `&`, `&^`, `<<`, `>>` and `*`.
fn product(cursor: &mut Cursor<'_, '_>, arch: Arch, depth: usize) -> Result<u64, Diagnostic> {
    let mut value = operand(cursor, arch, depth)?;
    loop {
        let shift = |by: u64| u32::try_from(by).unwrap_or(u32::MAX);
        value = if cursor.take("&") {
            value & operand(cursor, arch, depth)?
        } else if cursor.take("&^") {
            value & !operand(cursor, arch, depth)?
        } else if cursor.take("<<") {
            value.checked_shl(shift(operand(cursor, arch, depth)?)).unwrap_or(0)
        } else if cursor.take(">>") {
            value.checked_shr(shift(operand(cursor, arch, depth)?)).unwrap_or(0)
        } else if cursor.take("*") {
            value.wrapping_mul(operand(cursor, arch, depth)?)
        } else {
            return Ok(value);
        };
    }
}

/// A number, a constant, or an expression in parentheses, perhaps after `^` or `-`.
fn operand(cursor: &mut Cursor<'_, '_>, arch: Arch, depth: usize) -> Result<u64, Diagnostic> {
    let at = cursor.at();
    if depth > MAX_DEPTH {
        return Err(cursor.error(at, format!("parentheses nest deeper than {MAX_DEPTH}")));
    }
    if cursor.take("^") {
        return Ok(!operand(cursor, arch, depth + 1)?);
    }
    if cursor.take("-") {
        return Ok(operand(cursor, arch, depth + 1)?.wrapping_neg());
    }
    if cursor.take("(") {
        let value = sum(cursor, arch, depth + 1)?;
        cursor.expect(")")?;
        return Ok(value);
    }
    if let Some(name) = package_member(cursor) {
        return constants::value(arch, name).ok_or_else(|| {
            let message = match constants::is_name(name) {
                true => format!("`{name}` does not exist on {arch}"),
                false => format!("`{name}` is not a constant of the kernel that is known"),
            };
            cursor.error(at, message).help("write its value")
        });
    }
    match cursor.next() {
        Some(token) if token.kind == Kind::Number => number(token.text).ok_or_else(|| {
            cursor.error(at, format!("`{}` is not an integer of 64 bits", token.text))
        }),
        Some(token) if TYPES.contains(&token.text) && cursor.take("(") => {
            let value = sum(cursor, arch, depth + 1)?;
            cursor.expect(")")?;
            Ok(value)
        }
        Some(token) => Err(cursor.computed(at, &format!("`{}` is computed", token.text))),
        None => Err(cursor.error(at, "the text ends in a value".to_owned())),
    }
}

/// The name after `unix.`, `linux.` or `syscall.`.
fn package_member<'t>(cursor: &mut Cursor<'_, 't>) -> Option<&'t str> {
    let [package, dot, name, ..] = cursor.rest() else { return None };
    let is_member = PACKAGES.contains(&package.text) && dot.is(".") && name.kind == Kind::Word;
    let name = name.text;
    is_member.then(|| {
        cursor.skip(3);
        name
    })
}

/// A number as Go writes it: decimal, `0x`, `0o` or `0`, `0b`, with `_` between digits.
fn number(text: &str) -> Option<u64> {
    let digits = text.replace('_', "").to_ascii_lowercase();
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    match digits.get(..2) {
        Some("0x") => radix(digits.get(2..)?, 16),
        Some("0o") => radix(digits.get(2..)?, 8),
        Some("0b") => radix(digits.get(2..)?, 2),
        _ if digits.len() > 1 && digits.starts_with('0') => radix(digits.get(1..)?, 8),
        _ => radix(&digits, 10),
    }
}
