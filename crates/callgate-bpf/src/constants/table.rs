//! Lookup in the generated table.
//!
//! A line is `NAME VALUE [ARCH,...=VALUE]...`, sorted by name; `-` means that there is none. An architecture that ends with `*`
//! stands for all whose name starts like that.

use crate::suggest::nearest;
use callgate_core::Arch;

/// The lines of the table, without the comments at its start.
static TABLE: &str = include_str!("generated/constants.txt");

/// The value of a constant on an architecture. `None` if there is no such constant, or not on this architecture.
///
/// A negative value is extended to 64 bits, as the conversion to `unsigned long long` does: `AT_FDCWD` is
/// 0xffff_ffff_ffff_ff9c.
pub fn value(arch: Arch, name: &str) -> Option<u64> {
    value_in(arch, line(name)?)
}

/// Whether any architecture has a constant of this name.
pub fn is_name(name: &str) -> bool {
    line(name).is_some()
}

/// The names of all constants, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    lines("").map(name_of)
}

/// The most similar name, if there is one: for "did you mean …?".
pub fn nearest_name(word: &str) -> Option<&'static str> {
    nearest(word, names())
}

/// The value of constants that are joined by `|`, such as `O_RDWR|O_CLOEXEC`; each may also be a number that `number`
/// reads.
///
/// # Errors
/// The part that is neither.
pub fn value_of_bit_or(
    arch: Arch,
    text: &str,
    number: impl Fn(&str) -> Option<u64>,
) -> Result<u64, &str> {
    text.split('|').map(str::trim).try_fold(0, |sum, part| {
        value(arch, part).or_else(|| number(part)).map(|value| sum | value).ok_or(part)
    })
}

/// The constants of an architecture whose names start with `start`.
pub(super) fn starting(arch: Arch, start: &str) -> impl Iterator<Item = (&'static str, u64)> {
    let own = move |line| Some((name_of(line), value_in(arch, line)?));
    lines(start).take_while(move |line| line.starts_with(start)).filter_map(own)
}

/// The lines from the first one on whose name is not less than `name`.
fn lines(name: &str) -> impl Iterator<Item = &'static str> {
    let table = TABLE.trim_start_matches(|c| c != '\n').trim_start();
    // The second line is a comment, too.
    let table = table.split_once('\n').map_or("", |(_, rows)| rows);
    let (mut from, mut to) = (0, table.len());
    // Both are starts of lines; lines before `from` have smaller names, those from `to` on have not.
    while from < to {
        let middle = from + (to - from) / 2;
        let start = table
            .get(from..middle)
            .and_then(|part| part.rfind('\n'))
            .map_or(from, |at| from + at + 1);
        let Some(rest) = table.get(start..to) else { break };
        let line = rest.split('\n').next().unwrap_or_default();
        if name_of(line) < name {
            from = start + line.len() + 1;
        } else {
            to = start;
        }
    }
    table.get(from..).unwrap_or_default().lines()
}

fn line(name: &str) -> Option<&'static str> {
    lines(name).next().filter(|line| name_of(line) == name)
}

fn name_of(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

fn value_in(arch: Arch, line: &str) -> Option<u64> {
    let mut words = line.split(' ').skip(1);
    let usual = words.next()?;
    let own = words.find_map(|word| {
        let (arches, value) = word.split_once('=')?;
        arches.split(',').any(|one| is_column(arch, one)).then_some(value)
    });
    number(own.unwrap_or(usual))
}

/// Whether a column of the table is that of an architecture. Constants do not depend on the byte order.
fn is_column(arch: Arch, column: &str) -> bool {
    let own = match arch {
        Arch::Ppc64le => "ppc64",
        Arch::Mipsel => "mips",
        Arch::Mipsel64 => "mips64",
        Arch::Mipsel64n32 => "mips64n32",
        Arch::Sheb => "sh",
        other => other.name(),
    };
    match column.strip_suffix('*') {
        Some(start) => own.starts_with(start),
        None => own == column,
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_found_by_its_name() {
        let mut before = "";
        let mut count = 0;
        for name in names() {
            assert!(before < name, "{before} {name}");
            assert_eq!(line(name).map(name_of), Some(name));
            let has_it = |arch: &&Arch| value(**arch, name).is_some();
            assert!(Arch::ALL.iter().any(|arch| has_it(&arch)), "{name}");
            (before, count) = (name, count + 1);
        }
        assert!(count > 2500, "{count}");
        for missing in ["", "A", "AF_", "AF_ALGX", "ZZZ", "#", "\n", "# Constants"] {
            assert_eq!(value(Arch::X86_64, missing), None, "{missing:?}");
        }
    }

    /// Every word of every line is well formed, and its columns are those of architectures.
    #[test]
    fn lines_are_well_formed() {
        for line in lines("") {
            let mut words = line.split(' ');
            assert!(words.next().is_some_and(|name| !name.is_empty()), "{line}");
            assert!(
                words.next().is_some_and(|value| value == "-" || number(value).is_some()),
                "{line}"
            );
            for word in words {
                let (arches, value) = word.split_once('=').unwrap();
                assert!(value == "-" || number(value).is_some(), "{line}");
                for column in arches.split(',') {
                    assert!(
                        Arch::ALL.iter().any(|arch| is_column(*arch, column)),
                        "{line}: {column}"
                    );
                }
            }
        }
    }

    /// Values from the headers of the architectures and from man pages.
    #[test]
    fn values_are_those_of_the_architecture() {
        for (name, arches, expected) in [
            ("AF_ALG", "x86_64 mips parisc s390x", 38),
            ("CLONE_NEWUSER", "x86_64 arm mips64n32", 0x1000_0000),
            ("TIOCSTI", "x86_64 x86 arm aarch64 riscv64 s390x loongarch64", 0x5412),
            ("TIOCSTI", "mips mipsel mips64 mipsel64n32", 0x5472),
            ("TIOCSTI", "parisc ppc64le", 0x5412),
            ("TIOCLINUX", "x86_64 aarch64", 0x541c),
            ("TCGETS", "x86_64 aarch64", 0x5401),
            ("TCGETS", "ppc ppc64 ppc64le", 0x402c_7413),
            ("TCGETS", "mips mipsel64", 0x540d),
            ("O_CREAT", "x86_64 arm", 0o100),
            ("O_CREAT", "mips mipsel64", 0x100),
            ("O_CREAT", "parisc", 0x100),
            ("O_DIRECTORY", "x86_64 riscv64", 0o200_000),
            ("O_DIRECTORY", "arm aarch64 ppc64le", 0o40_000),
            ("SOCK_STREAM", "x86_64 parisc", 1),
            ("SOCK_STREAM", "mips mipsel64", 2),
            ("SOCK_DGRAM", "x86_64", 2),
            ("SOCK_DGRAM", "mips64", 1),
            ("SOCK_CLOEXEC", "x86_64 mips", 0o2_000_000),
            ("ENOSYS", "x86_64 sheb", 38),
            ("ENOSYS", "mips", 89),
            ("ENOSYS", "parisc64", 251),
            ("SIGSTOP", "x86_64", 19),
            ("SIGSTOP", "mips", 23),
            ("MAP_ANONYMOUS", "x86_64", 0x20),
            ("MAP_ANONYMOUS", "mips", 0x800),
            ("MAP_ANONYMOUS", "parisc", 0x10),
            ("FS_IOC_GETFLAGS", "x86_64", 0x8008_6601),
            ("FS_IOC_GETFLAGS", "x86 x32", 0x8004_6601),
            ("FS_IOC_GETFLAGS", "ppc64", 0x4008_6601),
            ("PERF_EVENT_IOC_ID", "x86_64", 0x8008_2407),
            ("AT_FDCWD", "x86_64 x86", 0xffff_ffff_ffff_ff9c),
            ("PR_SET_SECCOMP", "x86_64", 22),
            ("BPF_PROG_LOAD", "x86_64", 5),
            ("ARCH_SET_FS", "x86_64", 0x1002),
            ("F_SETLK64", "x86 arm", 13),
            ("F_GETLK", "mips", 14),
            ("PROT_EXEC", "x86_64", 4),
            ("KEYCTL_READ", "x86_64", 11),
            ("PTRACE_SEIZE", "x86_64", 0x4206),
        ] {
            for arch in arches.split(' ') {
                let arch = Arch::from_name(arch).unwrap();
                assert_eq!(value(arch, name), Some(expected), "{name} {arch}");
            }
        }
        assert_eq!(value(Arch::Aarch64, "ARCH_SET_FS"), None);
        for arch in Arch::ALL {
            assert_eq!(value(*arch, "ENOSYS"), Some(u64::from(arch.enosys())), "{arch}");
            assert_eq!(
                value(*arch, arch.audit_name()),
                Some(u64::from(arch.token())),
                "{arch}: {}",
                arch.audit_name()
            );
        }
    }

    #[test]
    fn joined_values_are_names_and_numbers() {
        let joined = |text| value_of_bit_or(Arch::X86_64, text, |part| part.parse().ok());
        assert_eq!(joined("O_RDWR|O_CLOEXEC"), Ok(0o2_000_002));
        assert_eq!(joined("O_RDWR | 8"), Ok(10));
        assert_eq!(joined("O_RDWR|O_CLOEXE"), Err("O_CLOEXE"));
        assert_eq!(joined(""), Err(""));
        assert_eq!(nearest_name("CLONE_NEWUSR"), Some("CLONE_NEWUSER"));
    }
}
