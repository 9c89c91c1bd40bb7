//! Kinds of inputs that are recognized, but not read: what they are, and what to do instead.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_formats::diagnostics::quote::shorten;

/// A kind of input.
struct Kind {
    is: fn(&str) -> bool,
    what: &'static str,
    next: Next,
}

/// What to do with it.
#[derive(Clone, Copy)]
enum Next {
    /// This.
    Is(&'static str),
    /// This, or start the program and read its filter.
    OrProcess(&'static str),
}

const KINDS: &[Kind] = &[
    Kind {
        is: |text| is_dump(text, |offset| offset.strip_suffix(':')),
        what: "this is a dump of xxd, with offsets and characters",
        next: Next::Is("convert it back: xxd -r FILE program.bpf, and give bpf:program.bpf"),
    },
    Kind {
        is: |text| is_dump(text, bare),
        what: "this is a dump of hexdump or od, with offsets",
        next: Next::Is(
            "dump the bytes only: xxd -p FILE or od -An -v -tx1 FILE, or give the dumped file: bpf:FILE",
        ),
    },
    Kind {
        is: |text| has_any(text, &["b\"\\x", "b'\\x"]),
        what: "these are bytes of Python",
        next: Next::Is("paste what print(filter.hex()) prints"),
    },
    Kind {
        is: |text| {
            let mut words = text.lines().map(|line| Vec::from_iter(line.split_whitespace()));
            words.any(|words| words == ["line", "OP", "JT", "JF", "K"])
        },
        what: "this is a listing of firejail --seccomp.print, whose numbers are hexadecimal without 0x",
        next: Next::OrProcess(
            "write each row as { 0x20, 0, 0, 0x4 }, with the numbers of its columns OP, JT, JF and K",
        ),
    },
    Kind {
        is: |text| has_line(text, &["seccomp.drop ", "seccomp.keep ", "caps.drop ", "nonewprivs"]),
        what: "this is a profile of Firejail",
        next: Next::OrProcess(
            "write the lists of seccomp.drop as systemd:SystemCallFilter=~…, with blanks instead of commas",
        ),
    },
    Kind {
        is: |text| {
            has_line(text, &["import seccomp", "from seccomp import", "import pyseccomp"])
                || text.contains("seccomp/libseccomp-golang")
        },
        what: "this program builds its filter with libseccomp when it runs",
        next: Next::OrProcess(
            "let it write the filter to a file with export_bpf (Python) or ExportBPF (Go)",
        ),
    },
    Kind {
        is: |text| has_line(text, &["seccomp:"]) && text.contains("default_action:"),
        what: "this is a configuration of Elastic Beats",
        next: Next::OrProcess("write its rules as a profile with defaultAction and syscalls"),
    },
    Kind {
        is: |text| {
            has_any(text, &["SECCOMP_SET_MODE_FILTER, ", "SECCOMP_MODE_FILTER, "])
                && text.contains("{len=")
        },
        what: "this is a trace of a program that installs a filter, not the filter",
        next: Next::OrProcess(
            "trace it with strace -e abbrev=none and paste what is between filter=[ and ]",
        ),
    },
];

/// What an input is that is recognized, but not read; `None` for others.
pub(super) fn unread(bytes: &[u8]) -> Option<Diagnostic> {
    if bytes.starts_with(b"\x7fELF") {
        let message = "this is an ELF file, a program or a library, not a filter";
        return Some(Diagnostic::error(None, message).help(Advice::GenerateFromBinary));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if let Some(line) = second_listing(text) {
        let position = Position { line, column: 1 };
        return Some(
            Diagnostic::error(Some(position), "a second listing begins here")
                .help("read each listing alone: write each into a file of its own"),
        );
    }
    if let Some(error) = compose(text) {
        return Some(error);
    }
    let kind = KINDS.iter().find(|kind| (kind.is)(text))?;
    let error = Diagnostic::error(None, kind.what);
    Some(match kind.next {
        Next::Is(next) => error.help(next),
        Next::OrProcess(next) => error.help(Advice::ReadProcessOr(next)),
    })
}

/// A Compose file, which names the profile of a service and does not have it.
fn compose(text: &str) -> Option<Diagnostic> {
    if !has_line(text, &["services:"]) {
        return None;
    }
    let what = "this is a Compose file, not a profile";
    let named = (1..).zip(text.lines()).find_map(|(line, text)| {
        let option = text.trim_start_matches([' ', '-', '"', '\'']);
        let value = option.strip_prefix("seccomp:").or_else(|| option.strip_prefix("seccomp="))?;
        let column = u32::try_from(text.len() - option.len() + 1).ok()?;
        let value = value.trim().trim_matches(['"', '\'']);
        Some((Position { line, column }, value)).filter(|(_, value)| !value.is_empty())
    });
    Some(match named {
        Some((position, "unconfined")) => Diagnostic::error(Some(position), what)
            .help("the service has no filter: seccomp:unconfined"),
        Some((position, profile)) => Diagnostic::error(Some(position), what)
            .help(format!("give the file of the profile that it names: {}", shorten(profile))),
        None => Diagnostic::error(None, what)
            .help("it names no profile in security_opt, so its services have the default of Docker or Podman"),
    })
}

fn has_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

fn has_line(text: &str, starts: &[&str]) -> bool {
    text.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// Whether all lines are an offset of at least 7 digits, from 0, and bytes in hexadecimal; `offset` removes what is around
/// it.
fn is_dump(text: &str, offset: fn(&str) -> Option<&str>) -> bool {
    let is_hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let starts = lines.peek().is_some_and(|line| line.starts_with("0000000"));
    starts
        && lines.all(|line| {
            let mut words = line.split_whitespace();
            let offset = words.next().and_then(offset);
            offset.is_some_and(|offset| offset.len() >= 7 && is_hex(offset))
                && words.next().is_none_or(is_hex)
        })
}

fn bare(offset: &str) -> Option<&str> {
    Some(offset)
}

/// The line of the second listing of seccomp-tools or libseccomp: of its header, or of its instruction 0.
fn second_listing(text: &str) -> Option<u32> {
    let is_header = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("line") && line.contains(" JT ") && line.contains(" JF ")
    };
    let is_first = |line: &str| line.trim_start().starts_with("0000: 0x");
    let second =
        |is: &dyn Fn(&str) -> bool| text.lines().enumerate().filter(|(_, line)| is(line)).nth(1);
    let (index, _) = second(&is_header).or_else(|| second(&is_first))?;
    u32::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_recognized_and_have_a_next_step() {
        let table = " line  CODE  JT   JF      K\n 0000: 0x06 0x00 0x00 0x7fff0000  return ALLOW\n";
        for (text, what) in [
            ("\x7fELF\x02", "this is an ELF file"),
            (
                "00000000: 2000 0000 0000 0000  ...\n00000010: 0600 0000  ..\n",
                "this is a dump of xxd",
            ),
            ("00000000  20 00 00 00  |....|\n00000004\n", "this is a dump of hexdump"),
            ("0000000 000040 000000\n0000004\n", "this is a dump of hexdump"),
            ("f = (b\"\\x06\\x00\")\n", "these are bytes of Python"),
            (
                " line  OP JT JF    K\n 0000: 06 00 00 7fff0000   ret ALLOW\n",
                "this is a listing of firejail",
            ),
            ("caps.drop all\nseccomp.drop @clock\n", "this is a profile of Firejail"),
            ("seccomp:\n  default_action: errno\n", "this is a configuration of Elastic Beats"),
            ("import sys\nimport seccomp\nf = seccomp.SyscallFilter(1)\n", "this program builds"),
            ("import libseccomp \"github.com/seccomp/libseccomp-golang\"\n", "this program builds"),
            ("services:\n  web:\n    image: nginx\n", "this is a Compose file"),
            ("seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=4, filter=0x7f}) = 0\n", "this is a trace"),
            (&table.repeat(2), "a second listing begins here"),
        ] {
            let found = unread(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert!(found.message.starts_with(what), "{text}: {}", found.message);
            assert!(!found.help.is_empty(), "{text}");
        }
        assert_eq!(
            unread(table.repeat(2).as_bytes()).and_then(|one| one.position).map(|at| at.line),
            Some(3)
        );
        let compose = |option: &str| {
            let text = format!("services:\n  a:\n    security_opt:\n      - {option}\n");
            let found = unread(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            (found.position.map(|at| (at.line, at.column)), found.help.to_string())
        };
        for option in ["seccomp:./p.json", "\"seccomp=./p.json\"", "'seccomp: ./p.json'"] {
            let (at, help) = compose(option);
            assert_eq!(at.map(|(line, _)| line), Some(4), "{option}");
            assert_eq!(help, "give the file of the profile that it names: ./p.json", "{option}");
        }
        assert!(compose("seccomp:unconfined").1.contains("no filter"));
        assert!(compose("no-new-privileges").1.contains("names no profile"));
        for text in [table, "ld [0]\nret #0\n", "2000000004000000\n", "1\n6 0 0 0\n", ""] {
            assert!(unread(text.as_bytes()).is_none(), "{text}");
        }
    }
}
