//! Calls as text: `socket(AF_INET, SOCK_STREAM, 0)`.

use callgate::Arch;

/// The argument that stands for any value.
pub const ANY: &str = "_";

/// A call as C and Callgate write it: `socket(AF_INET, SOCK_STREAM, 0)`, `x86_64 syscall 9999(1) at 0x10`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<'t> {
    /// The ABI, if it is named.
    pub arch: Option<Arch>,
    /// The name or number of the syscall.
    pub name: &'t str,
    /// Its arguments: numbers, constants, or `_` for any value.
    pub args: Vec<String>,
    /// The instruction pointer.
    pub at: Option<&'t str>,
}

impl<'t> Written<'t> {
    /// Reads a call; `None` for other texts, such as a line of strace.
    pub fn of(text: &'t str) -> Option<Written<'t>> {
        let (arch, text) = with_arch(text);
        let (call, at) = match text.rsplit_once(") at ") {
            Some((call, at)) => (call, Some(at.trim())),
            None => (text.strip_suffix(')')?, None),
        };
        let (name, inside) = call.split_once('(')?;
        let name = name.trim();
        let name = name.strip_prefix("syscall ").unwrap_or(name);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        // A line of strace has memory and a result.
        let is_traced = inside.contains(['"', '{', '[', '=', '(', ')']);
        if name.is_empty() || !name.bytes().all(is_name) || is_traced {
            return None;
        }
        let inside = inside.trim();
        let args = inside.split(',').map(|arg| arg.trim().to_owned());
        let args = if inside.is_empty() { Vec::new() } else { args.collect() };
        Some(Written { arch, name, args, at })
    }

    /// Reads a call, or the words with which the command takes one: `socket AF_INET 1`, `x86 getpid`. `None` without a word.
    pub fn of_words(text: &'t str) -> Option<Written<'t>> {
        if let Some(written) = Written::of(text) {
            return Some(written);
        }
        let (arch, text) = with_arch(text);
        let mut words = text.split([' ', '\t', ',', '(', ')']).filter(|word| !word.is_empty());
        let name = words.next()?;
        let mut args: Vec<String> = Vec::new();
        // Blanks around `|` do not separate arguments.
        for word in words {
            match args.last_mut() {
                Some(last) if last.ends_with('|') || word.starts_with('|') => last.push_str(word),
                _ => args.push(word.to_owned()),
            }
        }
        Some(Written { arch, name, args, at: None })
    }
}

/// A name of an architecture before a call, and the rest.
fn with_arch(text: &str) -> (Option<Arch>, &str) {
    let text = text.trim().trim_end_matches(';');
    match text.split_once(' ') {
        Some((first, rest)) => match Arch::from_name(first.trim_end_matches(':')) {
            Some(arch) => (Some(arch), rest.trim_start()),
            None => (None, text),
        },
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = (Option<Arch>, String, String, Option<String>);

    fn parts(written: Option<Written<'_>>) -> Option<Parts> {
        let Written { arch, name, args, at } = written?;
        Some((arch, name.to_owned(), args.join(" "), at.map(str::to_owned)))
    }

    fn call(arch: Option<Arch>, name: &str, args: &str, at: Option<&str>) -> Option<Parts> {
        Some((arch, name.to_owned(), args.to_owned(), at.map(str::to_owned)))
    }

    #[test]
    fn calls_are_read_as_they_are_printed() {
        let x86 = Some(Arch::X86_64);
        for (text, expected) in [
            (
                "socket(AF_INET, SOCK_STREAM, 0)",
                call(None, "socket", "AF_INET SOCK_STREAM 0", None),
            ),
            (
                "socket(AF_INET,SOCK_STREAM|SOCK_CLOEXEC,0);",
                call(None, "socket", "AF_INET SOCK_STREAM|SOCK_CLOEXEC 0", None),
            ),
            ("getpid()", call(None, "getpid", "", None)),
            ("x86_64 socket(AF_ALG)", call(x86, "socket", "AF_ALG", None)),
            ("x86_64 syscall 9999() at 0x10", call(x86, "9999", "", Some("0x10"))),
            ("sendto(_, _, _, _, 0)", call(None, "sendto", "_ _ _ _ 0", None)),
            ("open(\"a\") = -1 EPERM", None),
            ("error: socket(1)", None),
            ("socket", None),
            ("(1)", None),
        ] {
            assert_eq!(parts(Written::of(text)), expected, "{text}");
        }
    }

    #[test]
    fn words_are_read_as_the_command_takes_them() {
        for (text, expected) in [
            ("socket", call(None, "socket", "", None)),
            (" socket AF_INET  1 ", call(None, "socket", "AF_INET 1", None)),
            ("x86: getpid", call(Some(Arch::X86), "getpid", "", None)),
            (
                "openat(-100, 0, O_RDWR | O_CLOEXEC",
                call(None, "openat", "-100 0 O_RDWR|O_CLOEXEC", None),
            ),
            ("socket(AF_INET, 1)", call(None, "socket", "AF_INET 1", None)),
            ("", None),
            (" () ", None),
        ] {
            assert_eq!(parts(Written::of_words(text)), expected, "{text}");
        }
    }
}
