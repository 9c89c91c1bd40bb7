//! The values of names, computed by the C compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::names;
use super::selection::HEADERS;
use crate::syscalls::headers::Column;
use callgate_tasks::Result;

/// The directory of the headers of 31-bit s390, which newer kernels lack, are those of s390x.
fn directory(column: &Column) -> &'static str {
    if column.directory.is_empty() { "s390" } else { column.directory }
}

/// The constants of a column.
pub(super) fn values(
    uapi: &Path,
    internal: &str,
    column: &Column,
) -> Result<BTreeMap<String, u64>> {
    let mut source = String::new();
    for header in HEADERS {
        let _ = writeln!(source, "#if __has_include(<{header}>)\n#include <{header}>\n#endif");
    }
    // The argument of some ioctls; as wide as on every architecture.
    source += "typedef unsigned long size_t;\n";
    source += internal;
    let preprocessed = |option: &[&str]| -> Result<String> {
        let output = compile(uapi, column, &[&["-E"], option].concat(), &source)?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let first = errors.lines().find(|line| line.contains("error")).unwrap_or_default();
            return Err(format!("{}: the headers cannot be preprocessed: {first}", column.name));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut names: BTreeSet<String> = names::macros(&preprocessed(&["-dM"])?).into_iter().collect();
    names.extend(names::enumerations(&preprocessed(&["-P"])?));
    let assembly = assembly(uapi, column, source, &mut names)?;
    read(&assembly, &names).map_err(|error| format!("{}: {error}", column.name))
}

/// The assembly of a variable per name. Removes the names that have no value.
fn assembly(
    uapi: &Path,
    column: &Column,
    mut source: String,
    names: &mut BTreeSet<String>,
) -> Result<String> {
    let start = source.lines().count() + 1;
    source += "\n";
    loop {
        let mut text = source.clone();
        for name in names.iter() {
            let _ = writeln!(
                text,
                "const unsigned long long value_{name} = (unsigned long long)({name});"
            );
        }
        let output = compile(uapi, column, &["-S", "-w", "-fmax-errors=0"], &text)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines: BTreeSet<usize> = errors
            .lines()
            // An error inside a macro is followed by a note with the place where it is used.
            .filter(|line| {
                line.contains(" error: ") || line.contains(" note: in expansion of macro")
            })
            .filter_map(|line| line.strip_prefix("<stdin>:")?.split(':').next()?.parse().ok())
            .collect();
        let wrong: Vec<String> = lines
            .iter()
            .filter_map(|line| names.iter().nth(line.checked_sub(start + 1)?).cloned())
            .collect();
        if wrong.is_empty() {
            let first = errors.lines().find(|line| line.contains("error")).unwrap_or_default();
            return Err(format!("{}: the headers cannot be compiled: {first}", column.name));
        }
        names.retain(|name| !wrong.contains(name));
    }
}

/// Runs the compiler as that of a column would run.
fn compile(uapi: &Path, column: &Column, options: &[&str], source: &str) -> Result<Output> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-undef", "-nostdinc", "-x", "c", "-std=gnu11", "-o", "-"]).args(options);
    // The byte order affects no constant, but some headers refuse to be read without one.
    let endian =
        ["__MIPSEL__", "__LITTLE_ENDIAN__", "__ARMEL__", "__CHAR_BIT__=8", "__riscv_xlen=64"];
    command.args(column.defines.iter().chain(&endian).map(|define| format!("-D{define}")));
    let long = column.long;
    command.arg(if long == 8 { "-m64" } else { "-m32" });
    // i386 aligns 64-bit members to 4 bytes, other 32-bit architectures to 8 (m68k to 2, sh to 4).
    let aligns_to_8 = long == 4 && !matches!(column.name, "x86" | "m68k" | "sh");
    command.args(aligns_to_8.then_some("-malign-double"));
    command.args([format!("-D__SIZEOF_LONG__={long}"), format!("-D__SIZEOF_POINTER__={long}")]);
    command.args((long == 8).then_some("-D__LP64__"));
    command.arg("-I").arg(uapi.join("usr/lib/linux/uapi").join(directory(column)));
    command.arg("-I").arg(uapi.join("usr/include")).arg("-");
    let fail = |error: std::io::Error| format!("{compiler} (the C compiler, see $CC): {error}");
    command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(fail)?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let source = source.to_owned();
    // The compiler may write before it has read everything.
    let writer = std::thread::spawn(move || stdin.write_all(source.as_bytes()));
    let output = child.wait_with_output().map_err(fail)?;
    writer.join().map_err(|_| "the writer failed")?.map_err(fail)?;
    Ok(output)
}

/// The values in assembly of x86: `.quad`, two `.long`, or `.zero`. Names of strings have an address instead of a
/// value, and are left out.
fn read(assembly: &str, names: &BTreeSet<String>) -> Result<BTreeMap<String, u64>> {
    let mut values = BTreeMap::new();
    let mut addresses = BTreeSet::new();
    let mut lines = assembly.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("value_").and_then(|rest| rest.strip_suffix(':')) else {
            continue;
        };
        let mut words = Vec::new();
        while let Some((directive, operand)) = lines.peek().and_then(|line| line.split_once('\t')) {
            let number = operand.parse::<i128>();
            match (directive, number) {
                (".quad", Ok(number)) => words.push(number as u64),
                (".long", Ok(number)) => words.push(u64::from(number as u32)),
                (".zero", _) => words.push(0),
                (".quad" | ".long", Err(_)) => {
                    addresses.insert(name.to_owned());
                }
                _ => break,
            }
            lines.next();
        }
        match words.as_slice() {
            _ if addresses.contains(name) => {}
            [value] => drop(values.insert(name.to_owned(), *value)),
            [low, high] => drop(values.insert(name.to_owned(), high << 32 | low)),
            _ => return Err(format!("{name}: no value in the assembly")),
        }
    }
    match names.iter().find(|name| !values.contains_key(*name) && !addresses.contains(*name)) {
        Some(name) => Err(format!("the assembly lacks {name}; is $CC a compiler for x86-64?")),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_from_assembly_of_both_widths() {
        let text = "value_S:\n\t.quad\t.LC0\nvalue_A:\n\t.quad\t-100\n\t.globl\tvalue_B\nvalue_B:\n\t.long\t-1\n\t.long\t1\n\
            value_C:\n\t.zero\t8\n";
        let names = ["A", "B", "C", "S"].map(str::to_owned).into();
        let values = read(text, &names).unwrap();
        assert_eq!(values["A"], 100_u64.wrapping_neg());
        assert_eq!(values["B"], 0x1_ffff_ffff);
        assert_eq!(values["C"], 0);
        assert!(!values.contains_key("S"));
        assert!(read("value_A:\n\t.quad\t1\n", &names).unwrap_err().contains("lacks B"));
    }
}
