//! Numbers from the kernel's uapi headers, read through the C preprocessor.
//!
//! asm/unistd.h depends on the predefined macros of the architecture's compiler. These are defined here, so that
//! the host compiler serves all architectures. Only the output of `-dM` is read: unexpanded definitions, whose few
//! forms are evaluated below.

use super::supplement;
use callgate_tasks::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// A column of the table: one numbering, possibly for two byte orders.
pub(crate) struct Column {
    /// The name in the header of the table.
    pub(crate) name: &'static str,
    /// The directory under usr/lib/linux/uapi; empty if the kernel has dropped the interface.
    pub(crate) directory: &'static str,
    /// The size of `long` and of pointers in bytes.
    pub(crate) long: u8,
    /// Other predefined macros of this ABI's compilers on which the headers depend.
    pub(crate) defines: &'static [&'static str],
    /// The base of all numbers; the table stores numbers without it.
    base: u32,
}

const fn column(
    name: &'static str,
    directory: &'static str,
    long: u8,
    defines: &'static [&'static str],
    base: u32,
) -> Column {
    Column { name, directory, long, defines, base }
}

/// The columns in the order of the table, which is also that of `Arch::column` in `callgate-bpf`.
pub(crate) const COLUMNS: [Column; 18] = [
    column("x86_64", "x86", 8, &["__x86_64__"], 0),
    column("x86", "x86", 4, &["__i386__"], 0),
    column("x32", "x86", 4, &["__x86_64__", "__ILP32__"], 0x4000_0000),
    column("aarch64", "arm64", 8, &["__aarch64__"], 0),
    column("arm", "arm", 4, &["__arm__", "__ARM_EABI__"], 0),
    column("riscv64", "riscv", 8, &["__riscv"], 0),
    column("s390x", "s390", 8, &["__s390__", "__s390x__"], 0),
    column("s390", "", 4, &[], 0),
    column("ppc64", "powerpc", 8, &["__powerpc__", "__powerpc64__"], 0),
    column("ppc", "powerpc", 4, &["__powerpc__"], 0),
    column("loongarch64", "loongarch", 8, &["__loongarch__"], 0),
    column("mips", "mips", 4, &["__mips__", "_MIPS_SIM=1", "_ABIO32=1"], 4000),
    column("mips64", "mips", 8, &["__mips__", "__mips64", "_MIPS_SIM=3", "_ABI64=3"], 5000),
    column("mips64n32", "mips", 4, &["__mips__", "__mips64", "_MIPS_SIM=2", "_ABIN32=2"], 6000),
    column("m68k", "m68k", 4, &["__m68k__"], 0),
    column("parisc", "parisc", 4, &["__hppa__"], 0),
    column("parisc64", "parisc", 8, &["__hppa__"], 0),
    column("sh", "sh", 4, &["__sh__"], 0),
];

/// The numbers of all architectures.
#[derive(Default)]
pub(super) struct Tables {
    /// Per syscall its number in each column, without the column's base.
    pub(super) calls: BTreeMap<String, [Option<u32>; COLUMNS.len()]>,
    /// Second names of a number: the column, the second name, the name in `calls`.
    pub(super) aliases: Vec<(usize, String, String)>,
}

impl Tables {
    fn insert(&mut self, column: usize, name: &str, number: u32) -> Result<()> {
        let taken = self.calls.iter().find(|(_, row)| row[column] == Some(number));
        if let Some((other, _)) = taken {
            return Err(format!("{}: {name} and {other} are both {number}", COLUMNS[column].name));
        }
        self.calls.entry(name.to_owned()).or_default()[column] = Some(number);
        Ok(())
    }
}

/// Reads the headers of all architectures below the root of an unpacked linux-libc-dev.
pub(super) fn read(headers: &Path) -> Result<Tables> {
    let mut tables = Tables::default();
    for (index, column) in COLUMNS.iter().enumerate() {
        if column.directory.is_empty() {
            for (name, number) in supplement::s390()? {
                tables.insert(index, &name, number)?;
            }
            continue;
        }
        let macros = preprocess(headers, column, "asm/unistd.h")?;
        let before = tables.aliases.len();
        for (name, value) in &macros {
            let Some(call) = call_of_macro(name) else { continue };
            // A syscall that is defined by another call is a second name of its number.
            if let Some(first) = call_of_macro(value) {
                tables.aliases.push((index, call.to_owned(), first.to_owned()));
                continue;
            }
            let number = evaluate(&macros, value)
                .and_then(|number| number.checked_sub(column.base))
                .ok_or_else(|| {
                    format!("{}: {name} is {value:?}, which is not a number", column.name)
                })?;
            tables.insert(index, call, number)?;
        }
        for (_, second, first) in &tables.aliases[before..] {
            if tables.calls.get(first).is_none_or(|row| row[index].is_none()) {
                return Err(format!(
                    "{}: {second} is defined by {first}, which is not a syscall",
                    column.name
                ));
            }
        }
    }
    Ok(tables)
}

/// The numbers with which socketcall(2) and ipc(2) stand for syscalls, from linux/net.h and
/// linux/ipc.h: (multiplexer, call, number), in the order of the numbers.
pub(super) fn multiplexed(headers: &Path) -> Result<Vec<(&'static str, String, u32)>> {
    let mut found = Vec::new();
    for (multiplexer, file, prefix) in
        [("ipc", "linux/ipc.h", ""), ("socketcall", "linux/net.h", "SYS_")]
    {
        let path = headers.join("usr/include").join(file);
        let text = super::sources::read(&path)?;
        let mut calls = Vec::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some("#define"), Some(name), Some(number)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Ok(number) = number.parse::<u32>() else { continue };
            let family = ["SEM", "MSG", "SHM"].iter().any(|family| name.starts_with(family));
            match name.strip_prefix(prefix) {
                Some(call) if family || multiplexer == "socketcall" => {
                    calls.push((multiplexer, call.to_lowercase(), number));
                }
                _ => {}
            }
        }
        if calls.is_empty() {
            return Err(format!("{}: missing numbers of {multiplexer}(2)", path.display()));
        }
        calls.sort_by_key(|(_, _, number)| *number);
        found.append(&mut calls);
    }
    Ok(found)
}

/// The names of syscalls in the headers of all architectures, those without a column too.
pub(super) fn names_of_all(headers: &Path) -> Result<BTreeSet<String>> {
    let uapi = headers.join("usr/lib/linux/uapi");
    let fail = |error: std::io::Error| format!("{}: {error}", uapi.display());
    let mut names = BTreeSet::new();
    for architecture in fs::read_dir(&uapi).map_err(fail)? {
        for header in fs::read_dir(architecture.map_err(fail)?.path().join("asm")).map_err(fail)? {
            let path = header.map_err(fail)?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            if !file.starts_with("unistd") || !file.ends_with(".h") {
                continue;
            }
            for line in super::sources::read(&path)?.lines() {
                let name = line.strip_prefix("#define ").and_then(|l| l.split_whitespace().next());
                names.extend(name.and_then(call_of_macro).map(str::to_owned));
            }
        }
    }
    Ok(names)
}

/// The syscall that a macro numbers. Arm's private syscalls have a prefix of their own; markers and
/// bases, and slots that the kernel names only because nothing is in them, are no syscalls.
fn call_of_macro(name: &str) -> Option<&str> {
    let call = name.strip_prefix("__NR_").or_else(|| name.strip_prefix("__ARM_NR_"))?;
    let empty_slot = ["reserved", "unused"].iter().any(|word| {
        call.strip_prefix(word)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    });
    let marker = call.starts_with(|c: char| c.is_ascii_uppercase())
        || matches!(call, "syscalls" | "arch_specific_syscall");
    (!empty_slot && !marker).then_some(call)
}

/// All macros after including `file` as a compiler for `column` would.
fn preprocess(headers: &Path, column: &Column, file: &str) -> Result<BTreeMap<String, String>> {
    let uapi = headers.join("usr/lib/linux/uapi").join(column.directory);
    if !uapi.join(file).exists() {
        return Err(format!("{}: missing {file}", uapi.display()));
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-E", "-dM", "-undef", "-nostdinc", "-x", "c"]);
    command.args(column.defines.iter().map(|define| format!("-D{define}")));
    let long = column.long;
    command.arg("-D__CHAR_BIT__=8");
    command.args([format!("-D__SIZEOF_LONG__={long}"), format!("-D__SIZEOF_POINTER__={long}")]);
    command.args((long == 8).then_some("-D__LP64__"));
    command.arg("-I").arg(&uapi).arg("-I").arg(headers.join("usr/include")).arg("-");
    let fail = |error: std::io::Error| format!("{compiler} (the C compiler, see $CC): {error}");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(fail)?;
    if let Some(mut stdin) = child.stdin.take() {
        writeln!(stdin, "#include <{file}>").map_err(fail)?;
    }
    let output = child.wait_with_output().map_err(fail)?;
    if !output.status.success() {
        return Err(format!("{compiler} failed on {file} of {}", column.name));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let macros = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
        Some((name.to_owned(), value.trim().to_owned()))
    });
    Ok(macros.collect())
}

/// The value of a number, of a macro, or of a sum of them; `None` for any other form.
fn evaluate(macros: &BTreeMap<String, String>, expression: &str) -> Option<u32> {
    /// More than the longest chain of definitions in the headers (three), and a limit for circular ones.
    const DEPTH: usize = 8;
    let mut terms = vec![expression.to_owned()];
    for _ in 0..DEPTH {
        let mut expanded = Vec::new();
        for term in &terms {
            for part in term.split('+') {
                let part = part.trim().trim_matches(['(', ')']).trim();
                expanded.push(macros.get(part).cloned().unwrap_or_else(|| part.to_owned()));
            }
        }
        terms = expanded;
    }
    let number = |term: &String| match term.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => term.parse().ok(),
    };
    terms.iter().try_fold(0_u32, |sum, term| sum.checked_add(number(term)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn macros(definitions: &[(&str, &str)]) -> BTreeMap<String, String> {
        definitions.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn definitions_are_evaluated() {
        let macros = macros(&[
            ("BASE", "0"),
            ("PRIVATE", "(BASE+0x0f0000)"),
            ("LINUX", "4000"),
            ("LOOP", "(LOOP + 1)"),
        ]);
        assert_eq!(evaluate(&macros, "17"), Some(17));
        assert_eq!(evaluate(&macros, "(LINUX + 4)"), Some(4004));
        assert_eq!(evaluate(&macros, "(PRIVATE+5)"), Some(0xf0005));
        assert_eq!(evaluate(&macros, "(0x40000000 + 520)"), Some(0x4000_0208));
        assert_eq!(evaluate(&macros, "(LINUX - 4)"), None);
        assert_eq!(evaluate(&macros, "LOOP"), None);
    }

    #[test]
    fn only_calls_are_calls() {
        assert_eq!(call_of_macro("__NR_read"), Some("read"));
        assert_eq!(call_of_macro("__ARM_NR_set_tls"), Some("set_tls"));
        assert_eq!(call_of_macro("__NR_unused18"), None);
        assert_eq!(call_of_macro("__NR_unused"), Some("unused"));
        assert_eq!(call_of_macro("__NR_syscalls"), None);
        assert_eq!(call_of_macro("__NR_Linux"), None);
        assert_eq!(call_of_macro("__ARM_NR_BASE"), None);
        assert_eq!(call_of_macro("__X32_SYSCALL_BIT"), None);
    }
}
