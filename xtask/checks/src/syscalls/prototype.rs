//! Names, types and widths of syscall arguments. The width is the number of bits that the kernel reads.

use callgate_tasks::Result;
use std::collections::BTreeMap;

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// Its name in the kernel's definition of the syscall.
    pub(super) name: String,
    /// Its C type, without `__user` and with one blank before each `*`.
    pub(super) ctype: String,
    /// 32 or 64.
    pub(super) bits: u8,
}

/// The arguments of each syscall, by the kernel's name.
pub(super) type Prototypes = BTreeMap<String, Vec<Argument>>;

/// Reads trace events: `name: sys_enter_CALL`, and per argument `field:TYPE NAME; offset:...`.
pub(super) fn read_formats(text: &str) -> Result<Prototypes> {
    let mut prototypes = Prototypes::new();
    let mut call = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("name: sys_enter_") {
            call = Some(prototypes.entry(name.to_owned()).or_default());
        }
        let Some(field) = line.trim_start().strip_prefix("field:") else { continue };
        let declaration = field.split(';').next().unwrap_or_default();
        let internal = ["__syscall_nr", "common_"];
        let name = declaration.rsplit(' ').next().unwrap_or_default();
        if internal.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        match &mut call {
            Some(arguments) => arguments.push(argument(declaration)?),
            None => {
                return Err(format!("trace events: {declaration:?} does not belong to a syscall"));
            }
        }
    }
    if prototypes.is_empty() {
        return Err("trace events: missing sys_enter_*".to_owned());
    }
    Ok(prototypes)
}

/// Reads `call(TYPE NAME, TYPE NAME)`.
pub(super) fn read_prototype(text: &str) -> Result<(&str, Vec<Argument>)> {
    let (name, arguments) = text
        .strip_suffix(')')
        .and_then(|text| text.split_once('('))
        .ok_or_else(|| format!("{text:?} is not a prototype"))?;
    let arguments = arguments.split(',').map(str::trim).filter(|text| !text.is_empty());
    Ok((name, arguments.map(argument).collect::<Result<_>>()?))
}

/// Reads `TYPE NAME`.
fn argument(declaration: &str) -> Result<Argument> {
    let spaced = declaration.replace('*', " * ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let Some((name, ctype)) = words.split_last().filter(|(_, ctype)| !ctype.is_empty()) else {
        return Err(format!("{declaration:?} is not a type and a name"));
    };
    let ctype = ctype.join(" ").replace("* *", "**");
    let bits = bits(&ctype).ok_or_else(|| {
        format!("{declaration:?}: the width of {ctype:?} is unknown; add it to prototype.rs")
    })?;
    Ok(Argument { name: (*name).to_owned(), ctype, bits })
}

/// The width of a C type on a 64-bit kernel. Narrower types count as 32 bits, because filters compare words.
fn bits(ctype: &str) -> Option<u8> {
    if ctype.contains('*') {
        return Some(64);
    }
    let unqualified = ctype.trim_start_matches("const ").trim_end_matches(" const");
    if unqualified.starts_with("enum ") {
        return Some(32);
    }
    Some(match unqualified {
        "int" | "unsigned int" | "unsigned" | "u32" | "__u32" | "s32" | "__s32" => 32,
        "pid_t" | "uid_t" | "gid_t" | "qid_t" | "clockid_t" | "timer_t" | "mqd_t" => 32,
        "key_t" | "key_serial_t" | "rwf_t" | "umode_t" | "unsigned char" => 32,
        "long" | "unsigned long" | "size_t" | "ssize_t" | "off_t" | "loff_t" => 64,
        "u64" | "__u64" | "uintptr_t" | "aio_context_t" => 64,
        // Aliases of pointer types.
        "cap_user_header_t" | "cap_user_data_t" => 64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(name: &str, ctype: &str, bits: u8) -> Argument {
        Argument { name: name.to_owned(), ctype: ctype.to_owned(), bits }
    }

    #[test]
    fn trace_events_are_read() {
        let text = "kernel 6.18.1\nname: sys_enter_openat\nID: 782\nformat:\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
            \tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\
            \tfield:const char * filename;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:umode_t mode;\toffset:24;\tsize:8;\tsigned:0;\n\n\
            print fmt: \"filename: 0x%08lx\"\n\
            name: sys_enter_getpid\n";
        let prototypes = read_formats(text).unwrap();
        let openat = [expect("filename", "const char *", 64), expect("mode", "umode_t", 32)];
        assert_eq!(prototypes["openat"], openat);
        assert_eq!(prototypes["getpid"], []);
        assert!(read_formats("kernel 6.18.1\n").is_err());
        assert!(
            read_formats("field:int x;\n").unwrap_err().contains("does not belong to a syscall")
        );
    }

    #[test]
    fn prototypes_are_read() {
        let (name, arguments) = read_prototype("f(const int x, struct s **p, size_t n)").unwrap();
        assert_eq!(name, "f");
        let expected = [
            expect("x", "const int", 32),
            expect("p", "struct s **", 64),
            expect("n", "size_t", 64),
        ];
        assert_eq!(arguments, expected);
        assert_eq!(read_prototype("f()"), Ok(("f", vec![])));
        assert!(read_prototype("f(fd)").unwrap_err().contains("not a type and a name"));
        assert!(read_prototype("f(struct s x)").unwrap_err().contains("width"));
    }
}
