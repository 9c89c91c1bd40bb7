//! Checks a shared library: its SONAME, its size, that it defines exactly the functions of the header, and that the dynamic linker
//! can write-protect all that it must not change.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::run;

use super::library::Library;

/// Fails if programs that are linked with this library cannot run with `file`.
pub(super) fn check(library: &Library, file: &Path, header: &str) -> Result<()> {
    let name = file.display();
    let size = std::fs::metadata(file).map_err(|error| format!("{name}: {error}"))?.len();
    if size > library.max_size {
        return Err(format!("{name}: has {size} bytes, more than {}", library.max_size));
    }
    let dynamic = readelf(file, "--dynamic")?;
    let (soname, expected) = (soname(&dynamic), library.soname());
    if soname.as_deref() != Some(expected) {
        return Err(format!("{name}: its SONAME is {soname:?}, not {expected}"));
    }
    if library.build.own_unwinder && needed(&dynamic).any(|name| name.starts_with("libgcc_s.")) {
        return Err(format!("{name}: needs libgcc_s, although it has a copy of the unwinder"));
    }
    if let Some(weakness) = weakness(&dynamic, &readelf(file, "--program-headers")?) {
        return Err(format!("{name}: {weakness}"));
    }
    let symbols = defined(&readelf(file, "--dyn-syms")?);
    let functions = declared(header, library.prefix);
    let missing: Vec<&str> = functions.difference(&symbols).map(String::as_str).collect();
    let others: Vec<&str> = symbols.difference(&functions).map(String::as_str).collect();
    match (missing.as_slice(), others.as_slice()) {
        ([], []) => Ok(()),
        (missing, []) => Err(format!("{name}: lacks {}", missing.join(", "))),
        (_, others) => Err(format!("{name}: exports also {}", others.join(", "))),
    }
}

/// The newest version of glibc whose symbols a library needs.
pub(crate) fn glibc(library: &Path) -> Result<(u32, u32)> {
    newest_glibc(&readelf(library, "--version-info")?)
        .ok_or_else(|| format!("{}: needs no version of glibc", library.display()))
}

fn readelf(library: &Path, option: &str) -> Result<String> {
    let mut command = Command::new("readelf");
    // It translates its output.
    run(command.env("LC_ALL", "C").args(["--wide", option]).arg(library))
}

/// The newest `GLIBC_x.y` in the output of `readelf --version-info`.
fn newest_glibc(table: &str) -> Option<(u32, u32)> {
    let versions = table.split("Name: GLIBC_").skip(1).filter_map(|rest| {
        let (major, minor) = rest.split_whitespace().next()?.split_once('.')?;
        // The first symbols have versions such as 2.2.5.
        let minor = minor.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max()
}

/// Why the dynamic linker cannot write-protect all of a library, from the outputs of `readelf --dynamic` and
/// `--program-headers`.
fn weakness(dynamic: &str, headers: &str) -> Option<&'static str> {
    let has_flag = |tag: &str, flag: &str| {
        dynamic.lines().any(|line| line.contains(tag) && line.contains(flag))
    };
    let writable_code = headers.lines().any(|line| {
        let is_segment = line.contains(" LOAD ") || line.contains("GNU_STACK");
        is_segment && line.contains("RWE")
    });
    if has_flag("(TEXTREL)", "") || has_flag("(FLAGS)", "TEXTREL") {
        Some("has relocations in its code (TEXTREL)")
    } else if writable_code {
        Some("has a segment that can be written and executed, or needs such a stack")
    } else if !headers.contains("GNU_RELRO") {
        Some("has no GNU_RELRO segment; link it with -z relro")
    } else if !has_flag("(FLAGS)", "BIND_NOW") && !has_flag("(FLAGS_1)", "NOW") {
        Some("binds symbols when they are called first; link it with -z now")
    } else {
        None
    }
}

/// The functions that a C header declares: identifiers with the prefix before a parenthesis.
fn declared(header: &str, prefix: &str) -> BTreeSet<String> {
    let mut code = String::new();
    for (place, part) in header.split("/*").enumerate() {
        code += if place == 0 { part } else { part.split_once("*/").map_or("", |(_, code)| code) };
    }
    let before_parenthesis = code
        .split('(')
        .filter_map(|part| part.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next());
    before_parenthesis.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
}

/// The symbols that a library defines for others, from the output of `readelf --dyn-syms`.
fn defined(table: &str) -> BTreeSet<String> {
    let symbol = |line: &str| {
        let mut fields = line.split_whitespace().skip(4);
        let (bind, _, section, name) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        // GNU ld adds local symbols of sections for some machines.
        let is_defined = bind != "LOCAL" && section.parse::<u16>().is_ok();
        is_defined.then(|| name.split('@').next().unwrap_or(name).to_owned())
    };
    table.lines().filter_map(symbol).collect()
}

/// The SONAME, from the output of `readelf --dynamic`.
fn soname(table: &str) -> Option<String> {
    let line = table.lines().find(|line| line.contains("(SONAME)"))?;
    let (_, name) = line.split_once('[')?;
    Some(name.split_once(']')?.0.to_owned())
}

/// The libraries that a library needs, from the output of `readelf --dynamic`.
fn needed(table: &str) -> impl Iterator<Item = &str> {
    let lines = table.lines().filter(|line| line.contains("(NEEDED)"));
    lines.filter_map(|line| line.split_once('[')?.1.split(']').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn declarations_are_found_outside_comments() {
        let header = "/* seccomp_a() */\nint seccomp_b(void);\nint *seccomp_c(int (*f)(int), struct seccomp_d *d);\n\
                      #define A(x) ((x) & 1)\n/* seccomp_e(2) */ char *\nseccomp_f(\n);";
        assert_eq!(declared(header, "seccomp_"), set(&["seccomp_b", "seccomp_c", "seccomp_f"]));
    }

    #[test]
    fn the_header_declares_the_functions_of_libseccomp() {
        let header = callgate_tasks::workspace().join("crates/callgate-seccomp/include/seccomp.h");
        let functions = declared(&std::fs::read_to_string(header).unwrap(), "seccomp_");
        assert_eq!(functions.len(), 38);
        assert!(functions.contains("seccomp_syscall_resolve_name_rewrite"));
    }

    #[test]
    fn only_defined_symbols_count() {
        let table = "
Symbol table '.dynsym' contains 5 entries:
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT  UND 
     1: 000000000000abe0     0 SECTION LOCAL  DEFAULT    9 .init
     2: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND free@GLIBC_2.2.5 (2)
     3: 0000000000012340    20 FUNC    GLOBAL DEFAULT   12 seccomp_init
     4: 0000000000012360     8 OBJECT  GLOBAL DEFAULT   21 other@@V1
";
        assert_eq!(defined(table), set(&["other", "seccomp_init"]));
    }

    #[test]
    fn what_can_be_written_is_refused() {
        let now =
            " 0x000000000000001e (FLAGS)  BIND_NOW\n 0x000000006ffffffb (FLAGS_1)  Flags: NOW\n";
        let headers = "  LOAD  0x000000 0x0 0x0 0x1000 0x1000 R E 0x1000\n  GNU_STACK 0x0 0x0 0x0 0x0 0x0 RW  0x0\n  \
                       GNU_RELRO 0x2000 0x2000 0x2000 0x10 0x10 R   0x1\n";
        assert_eq!(weakness(now, headers), None);
        let lazy = " 0x000000006ffffffb (FLAGS_1)  Flags: NODELETE\n";
        assert!(weakness(lazy, headers).is_some());
        assert!(weakness(&format!("{now} 0x16 (TEXTREL)  0x0\n"), headers).is_some());
        assert!(weakness(now, &headers.replace("GNU_RELRO", "GNU_OTHER")).is_some());
        assert!(weakness(now, &headers.replace("RW ", "RWE")).is_some());
        assert!(weakness(now, &headers.replace("R E", "RWE")).is_some());
    }

    #[test]
    fn the_soname_and_needed_libraries_are_read() {
        let table = " 0x0000000000000001 (NEEDED)  Shared library: [libc.so.6]\n \
                     0x000000000000000e (SONAME)  Library soname: [libseccomp.so.2]\n";
        assert_eq!(soname(table).as_deref(), Some("libseccomp.so.2"));
        assert!(needed(table).eq(["libc.so.6"]));
        assert_eq!(soname("there is no dynamic section"), None);
    }

    #[test]
    fn the_newest_glibc_is_found() {
        let table = "\
Version needs section '.gnu.version_r' contains 2 entries:
  000000: Version: 1  File: libgcc_s.so.1  Cnt: 1
  0x0010:   Name: GCC_3.0  Flags: none  Version: 9
  0x0020: Version: 1  File: libc.so.6  Cnt: 3
  0x0030:   Name: GLIBC_2.9  Flags: none  Version: 7
  0x0040:   Name: GLIBC_2.34  Flags: none  Version: 5
  0x0050:   Name: GLIBC_2.2.5  Flags: none  Version: 2
";
        assert_eq!(newest_glibc(table), Some((2, 34)));
        assert_eq!(newest_glibc("No version information found in this file.\n"), None);
    }
}
