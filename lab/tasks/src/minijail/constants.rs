//! The names and numbers for the compiler.

use callgate_bpf::SyscallTable;
use std::fmt::Write;
use std::path::Path;

use callgate::Arch;
use callgate_bpf::constants;
use callgate_formats::syntax::json;

use callgate_tasks::Result;

/// The file in JSON that the compiler needs, from our tables.
pub(super) fn of_tables(arch: Arch) -> Result<String> {
    let name = match arch {
        Arch::X86_64 => "x86_64",
        Arch::X86 => "x86",
        Arch::Aarch64 => "arm64",
        Arch::Arm => "arm",
        Arch::Riscv64 => "riscv64",
        Arch::Loongarch64 => "loong64",
        other => return Err(format!("minijail has no filters for {other}")),
    };
    let bits = if arch.is_64bit() { 64 } else { 32 };
    let mut text =
        format!("{{\"arch_nr\": {}, \"arch_name\": \"{name}\", \"bits\": {bits}", arch.token());
    text += ", \"syscalls\": {";
    for (index, (nr, name)) in arch.syscalls().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}\"{name}\": {nr}");
    }
    text += "}, \"constants\": {\"EPERM\": 1, \"ENOSYS\": 38";
    for name in constants::names() {
        if let Some(value) = constants::value(arch, name) {
            // The compiler takes numbers of the size of a register.
            let value = if bits == 32 { value & u64::from(u32::MAX) } else { value };
            let _ = write!(text, ", \"{name}\": {value}");
        }
    }
    text += "}}";
    Ok(text)
}

/// The file of minijail for x86_64, with the names and numbers of our table of syscalls.
pub(crate) fn with_our_syscalls(theirs: &str) -> Result<String> {
    const KEY: &str = "\"syscalls\": {";
    let wrong = || "constants.json has no syscalls".to_owned();
    let (before, rest) = theirs.split_once(KEY).ok_or_else(wrong)?;
    let (_, after) = rest.split_once('}').ok_or_else(wrong)?;
    let names = Arch::X86_64.syscalls().map(|(nr, name)| format!("\"{name}\": {nr}"));
    Ok(format!("{before}{KEY}{}}}{after}", names.collect::<Vec<_>>().join(", ")))
}

/// Compares the constants of a file with ours, and prints the numbers.
pub(super) fn compare(file: &Path, arch: Arch) -> Result<()> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| fail(&error))?;
    let document = json::parse(&text).map_err(|error| fail(&error))?;
    let theirs = document.get("constants").ok_or_else(|| fail(&"no constants"))?;
    let (mut same, mut different, mut unknown) = (0, Vec::new(), 0);
    for member in theirs.members() {
        let callgate_formats::syntax::tree::NodeKind::Number(digits) = &member.value.kind else {
            continue;
        };
        let value = digits
            .parse::<u64>()
            .or_else(|_| digits.parse::<i64>().map(|value| value as u64))
            .map_err(|error| fail(&error))?;
        match constants::value(arch, &member.key) {
            Some(ours) if ours == value => same += 1,
            Some(ours) => different.push(format!("{}: {ours:#x}, minijail {value:#x}", member.key)),
            None => unknown += 1,
        }
    }
    println!(
        "constants: {same} equal, {} different, {unknown} only known to minijail",
        different.len()
    );
    different.iter().for_each(|line| println!("  {line}"));
    Ok(())
}
