//! Syscalls as text: `clone(0x10000000, 0x0, …)`.

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use callgate::{Arch, SeccompData};
use callgate_bpf::advice::Advice;
use callgate_bpf::constants::{self, Family};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls;

use crate::json::Json;
use crate::source::Value;

type Result<T> = std::result::Result<T, Diagnostic>;

/// The number of a syscall given by name or number, as a filter of that architecture sees it.
pub fn number(arch: Arch, text: &str) -> Result<u32> {
    find(arch, text)?.ok_or_else(|| unknown(&[arch], text))
}

/// Like [`number`], which takes constants such as `SYS_read`, too; `None` if the architecture has no syscall of that name.
///
/// # Errors
/// If a number does not fit in 32 bits.
pub fn find(arch: Arch, text: &str) -> Result<Option<u32>> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        return Ok(arch.number(syscalls::name_in_constant(text).unwrap_or(text)));
    }
    parse_number(text).map(Some)
}

/// The numbers of these syscalls on each architecture.
///
/// # Errors
/// If no architecture has one of them, or a number does not fit in 32 bits.
pub fn find_all(arches: &[Arch], calls: &[String]) -> Result<Vec<Vec<u32>>> {
    let mut found = vec![Vec::new(); arches.len()];
    for call in calls {
        let mut is_known = false;
        for (arch, numbers) in arches.iter().zip(&mut found) {
            let nr = find(*arch, call)?;
            is_known |= nr.is_some();
            numbers.extend(nr);
        }
        if !is_known {
            return Err(unknown(arches, call));
        }
    }
    Ok(found)
}

/// Parses a syscall number.
pub fn parse_number(text: &str) -> Result<u32> {
    let value =
        Value::parse(text).map_err(|why| Diagnostic::error(None, format!("{text}: {why}")))?;
    // The field is an int; a tracer writes -1 to skip a syscall.
    value.narrow().ok_or_else(|| {
        Diagnostic::error(None, format!("{text} is not a syscall number, which has 32 bits"))
    })
}

/// The message for a name that is not a syscall of these architectures.
pub fn unknown(arches: &[Arch], text: &str) -> Diagnostic {
    let list = |arches: Vec<&str>| match arches.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., end] => format!("{} and {end}", others.join(", ")),
    };
    let asked = list(arches.iter().map(|arch| arch.name()).collect());
    let have = if arches.len() == 1 { "has" } else { "have" };
    let failure = Diagnostic::error(None, format!("{asked} {have} no syscall \"{text}\""));
    let has_it = Arch::ALL.iter().filter(|arch| arch.number(text).is_some());
    let others: Vec<&str> = has_it.map(|arch| arch.name()).collect();
    let there = arches.iter().find_map(|arch| Some((*arch, syscalls::instead(*arch, text)?)));
    if let Some((arch, other)) = there {
        return failure.help(format!("programs use `{other}` on {arch} instead"));
    }
    failure.help(match syscalls::nearest_name(text) {
        _ if !others.is_empty() => format!("it exists on {}", list(others)),
        _ if syscalls::is_known_name(text) => {
            "it exists only on other architectures or in old kernels".to_owned()
        }
        Some(near) => format!("did you mean \"{near}\"? A number is accepted, too"),
        None => "use a name as in syscalls(2), or a number".to_owned(),
    })
}

/// Parses an arch token.
pub fn parse_token(text: &str) -> std::result::Result<u32, String> {
    u32::try_from(parse_value(text)?).map_err(|_| "an arch token has 32 bits".to_owned())
}

/// Parses an argument as its register holds it: a number, a constant, or both joined by `|`. It has 32 bits on a 32-bit ABI.
/// On 32-bit ABIs with 64-bit registers, only negative numbers are truncated to 32 bits, as compilers do.
pub fn parse_argument(arch: Option<Arch>, text: &str) -> Result<u64> {
    if text.contains(|c: char| c == '|' || c == '_' || c.is_ascii_uppercase())
        && !text.starts_with("0X")
    {
        return parse_constants(arch, text);
    }
    let value = Value::parse(text)
        .map_err(|why| Diagnostic::error(None, format!("argument \"{text}\": {why}")))?;
    in_register(arch, text, value)
}

/// Parses constants and numbers that are joined by `|`.
fn parse_constants(arch: Option<Arch>, text: &str) -> Result<u64> {
    let fail = |why: String| Diagnostic::error(None, format!("argument \"{text}\": {why}"));
    let Some(arch) = arch else {
        return Err(fail("the values of constants depend on the architecture".to_owned())
            .help(Advice::SyscallArchOrNumber));
    };
    let value =
        constants::value_of_bit_or(arch, text, |part| parse_value(part).ok()).map_err(|part| {
            let help = match constants::nearest_name(part) {
                _ if constants::is_name(part) => {
                    return fail(format!("{part} does not exist on {arch}"))
                        .help(Advice::OtherSyscallArchOrNumber);
                }
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "use constants and numbers, joined by |".to_owned(),
            };
            fail(format!("\"{part}\" is neither a number nor a constant")).help(help)
        })?;
    // Constants such as AT_FDCWD are negative.
    in_register(Some(arch), text, Value::from(value as i64))
}

/// A value as a register holds it.
fn in_register(arch: Option<Arch>, text: &str, value: Value) -> Result<u64> {
    let Some(arch) = arch else { return Ok(value.bits()) };
    if arch.is_64bit() || arch.has_wide_registers() && !value.is_negative() {
        return Ok(value.bits());
    }
    value.narrow().map(u64::from).ok_or_else(|| {
        Diagnostic::error(None, format!("argument \"{text}\": arguments on {arch} have 32 bits"))
    })
}

/// The 64 bits of a value: decimal, `0x`, `0o` or `0b`, perhaps negative (two's complement).
pub fn parse_value(text: &str) -> std::result::Result<u64, String> {
    Value::parse(text).map(Value::bits)
}

/// The ABI of a syscall, of those that share its arch token.
pub fn arch_of(data: &SeccompData) -> Option<Arch> {
    let mut candidates = Arch::with_token(data.arch).peekable();
    let first = candidates.peek().copied();
    candidates.find(|arch| arch.syscall_name(data.nr).is_some()).or(first)
}

/// The name of an ABI, or its arch token if it has none.
pub fn arch_name(arch: Option<Arch>, token: u32) -> String {
    arch.map_or_else(|| format!("arch {token:#010x}"), |arch| arch.name().to_owned())
}

/// The name of a syscall, or its number if it has none.
pub fn name(arch: Option<Arch>, nr: u32) -> String {
    match arch.and_then(|arch| arch.syscall_name(nr)) {
        Some(name) => name.to_owned(),
        None if nr > 0xffff => format!("syscall {nr:#x}"),
        None => format!("syscall {nr}"),
    }
}

/// `openat(AT_FDCWD, 0x0, O_RDWR)`: trailing zeros are omitted, and the instruction pointer if it is 0. A value that is
/// not 0 is written as constants if these, as an argument of the command, mean the same value.
pub fn show(arch: Option<Arch>, data: &SeccompData) -> String {
    show_any(arch, data, &[])
}

/// As [`show`], with `_` for the arguments of these indexes, which may have any value.
pub fn show_any(arch: Option<Arch>, data: &SeccompData, any: &[u8]) -> String {
    let mut text = name(arch, data.nr);
    let is_any = |index: usize| any.iter().any(|one| usize::from(*one) == index);
    let used = (0..data.args.len())
        .rev()
        .find(|index| is_any(*index) || data.args.get(*index).is_some_and(|arg| *arg != 0));
    text.push('(');
    for (i, arg) in data.args.iter().take(used.map_or(0, |last| last + 1)).enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        if is_any(i) {
            text.push('_');
            continue;
        }
        if let Some(named) = named(arch, data.nr, i, *arg) {
            text.push_str(&named);
            continue;
        }
        let _ = if *arg < 10 { write!(text, "{arg}") } else { write!(text, "{arg:#x}") };
    }
    text.push(')');
    if data.instruction_pointer != 0 {
        let _ = write!(text, " at {:#x}", data.instruction_pointer);
    }
    text
}

/// An argument as constants.
fn named(arch: Option<Arch>, nr: u32, index: usize, value: u64) -> Option<String> {
    let arch = arch.filter(|_| value != 0)?;
    let family = Family::of(arch, arch.syscall_name(nr)?, u8::try_from(index).ok()?)?;
    let text = family.name(arch, value)?;
    (parse_argument(Some(arch), &text).ok()? == value).then_some(text)
}

/// A value of an argument as people say it: constants, or else a number.
pub fn value_in_words(arch: Arch, nr: u32, index: u8, value: u64) -> String {
    let family = arch.syscall_name(nr).and_then(|name| Family::of(arch, name, index));
    let number = || if value < 4096 { value.to_string() } else { format!("{value:#x}") };
    family.and_then(|family| family.name(arch, value)).unwrap_or_else(number)
}

/// The JSON fields of a syscall.
pub fn fields(arch: Option<Arch>, data: &SeccompData) -> Vec<(&'static str, Json)> {
    vec![
        ("arch", arch.map(Arch::name).into()),
        ("arch_token", data.arch.into()),
        ("call", arch.and_then(|arch| arch.syscall_name(data.nr)).into()),
        ("nr", data.nr.into()),
        ("args", Json::array(data.args)),
        ("instruction_pointer", data.instruction_pointer.into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_32_bit_interface_has_32_bit_arguments() {
        assert_eq!(parse_argument(Some(Arch::X86), "-100").unwrap(), 0xffff_ff9c);
        assert_eq!(parse_argument(Some(Arch::X86_64), "-100").unwrap(), 0xffff_ffff_ffff_ff9c);
        for wide in ["0x100000000", "18446744073709551615", "-0x80000001"] {
            assert!(parse_argument(Some(Arch::X86), wide).is_err(), "{wide}");
        }
    }

    #[test]
    fn arguments_are_constants_too() {
        let of = |arch, text| parse_argument(Some(arch), text);
        assert_eq!(of(Arch::X86_64, "AF_ALG").unwrap(), 38);
        assert_eq!(of(Arch::X86_64, "O_RDWR|O_CLOEXEC|1").unwrap(), 0o2_000_003);
        assert_eq!(of(Arch::Mips, "TIOCSTI").unwrap(), 0x5472);
        assert_eq!(of(Arch::X86_64, "AT_FDCWD").unwrap(), 0xffff_ffff_ffff_ff9c);
        assert_eq!(of(Arch::X86, "AT_FDCWD").unwrap(), 0xffff_ff9c);
        assert_eq!(of(Arch::X32, "AT_FDCWD").unwrap(), 0xffff_ff9c);
        let wrong = |arch, text| format!("{:?}", of(arch, text).unwrap_err());
        assert!(wrong(Arch::X86_64, "AF_AGL").contains("AF_ALG"));
        assert!(wrong(Arch::Aarch64, "ARCH_SET_FS").contains("does not exist on aarch64"));
        assert!(wrong(Arch::X86, "CLONE_INTO_CGROUP").contains("32 bits"));
        assert!(parse_argument(None, "AF_ALG").is_err());
    }

    #[test]
    fn syscalls_are_found_by_name_and_number() {
        assert_eq!(number(Arch::X86_64, "read").unwrap(), 0);
        assert_eq!(number(Arch::X86_64, "9999").unwrap(), 9999);
        assert_eq!(number(Arch::X86_64, "-1").unwrap(), u32::MAX);
        assert_eq!(number(Arch::X86_64, "0x40000001").unwrap(), 0x4000_0001);
        for wrong in ["socketcall", "reed", "0x100000000", "18446744073709551615", "-3000000000"] {
            assert!(number(Arch::X86_64, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_name_is_reported_for_all_architectures() {
        let of = |arches: &[Arch], text| format!("{:?}", unknown(arches, text));
        let three = [Arch::X86_64, Arch::X86, Arch::X32];
        assert!(of(&three, "x").contains("x86_64, x86 and x32 have no syscall"));
        assert!(of(&three[..2], "x").contains("x86_64 and x86 have no syscall"));
        assert!(of(&three[..1], "opneat").contains("did you mean \\\"openat\\\"?"));
        assert!(of(&three[..1], "osf_sigprocmask").contains("in old kernels"));
    }

    #[test]
    fn values_have_names_where_they_have_a_meaning() {
        let of = |name, index, value| {
            let nr = Arch::X86_64.number(name).unwrap();
            value_in_words(Arch::X86_64, nr, index, value)
        };
        assert_eq!(of("unshare", 0, 0x1000_0000), "CLONE_NEWUSER");
        assert_eq!(of("socket", 0, 0), "AF_UNSPEC");
        assert_eq!(of("openat", 0, 0xffff_ff9c), "AT_FDCWD");
        assert_eq!(of("ioctl", 1, 0x5413), "TIOCGWINSZ");
        assert_eq!(of("write", 2, 4095), "4095");
        assert_eq!(of("write", 2, 4096), "0x1000");
        assert_eq!(value_in_words(Arch::X86_64, 9999, 0, 7), "7");
    }

    #[test]
    fn trailing_zeros_are_omitted() {
        let mut data = SeccompData { nr: 257, arch: Arch::X86_64.token(), ..Default::default() };
        assert_eq!(show(arch_of(&data), &data), "openat()");
        data.args = [0xffff_ff9c, 0, 2, 0, 0, 0];
        assert_eq!(show(arch_of(&data), &data), "openat(0xffffff9c, 0, O_RDWR)");
        data.nr = 9999;
        data.args = [0; 6];
        data.instruction_pointer = 0x10;
        assert_eq!(show(arch_of(&data), &data), "syscall 9999() at 0x10");
        data.nr = 0x4000_0001;
        assert_eq!(arch_of(&data), Some(Arch::X32));
    }
}
