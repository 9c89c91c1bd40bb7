//! Kinds of inputs that are recognized, but not read: what they are, and what to do instead.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_bpf::text::programs;
use callgate_formats::languages::detect;

/// A kind of input.
struct Kind {
    is: fn(&str) -> bool,
    what: &'static str,
    /// What to do, besides catching what the program installs.
    next: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        is: |text| {
            let is_python =
                has_line(text, &["import seccomp", "from seccomp import", "import pyseccomp"]);
            (is_python && !text.contains("SyscallFilter"))
                || text.contains("seccomp/libseccomp-golang")
        },
        what: "this program builds its filter with libseccomp when it runs",
        next: "let it write the filter to a file with export_bpf (Python) or ExportBPF (Go)",
    },
    Kind {
        is: |text| has_line(text, &["seccomp:"]) && text.contains("default_action:"),
        what: "this is a configuration of Elastic Beats",
        next: "write its rules as a profile with defaultAction and syscalls",
    },
];

/// An input that names a profile, or says something about one, and does not have it.
struct About {
    is: fn(&str) -> bool,
    what: &'static str,
    help: &'static str,
}

const ABOUT: &[About] = &[
    About {
        is: |text| {
            text.starts_with("[seccomp") || (text.starts_with('[') && text.contains(" seccomp="))
        },
        what: "this is a list as `docker inspect --format` prints it",
        help: "print it as JSON: docker inspect --format '{{json .HostConfig.SecurityOpt}}' CONTAINER",
    },
    About {
        is: |text| {
            has_line(text, &["Data"]) && has_line(text, &["===="]) && has_line(text, &["Name:"])
        },
        what: "this is what `kubectl describe` prints, which shortens it",
        help: "give what `kubectl get configmap NAME -o yaml` prints",
    },
    About {
        is: |text| has_item(text, "Security Options:") || text.contains("\"SecurityOptions\""),
        what: "this is what `docker info` prints, not a profile",
        help: "the profile builtin is docker-default@VERSION, of the version that it prints; any other is a file: give that",
    },
    About {
        is: |text| has_item(text, "seccomp_profile ") || has_item(text, "seccomp_profile="),
        what: "this is a configuration of Podman or CRI-O, not a profile",
        help: "give the file that `seccomp_profile` names; without one it is podman-default or crio-default",
    },
    About {
        is: |text| has_item(text, "lxc.seccomp"),
        what: "this is a configuration of LXC, not a profile",
        help: "give the file that `lxc.seccomp.profile` names",
    },
    About {
        is: |text| {
            // Those that name a profile are read.
            let is_read =
                detect(Some("sh"), text.as_bytes()).is_some() || text.contains("\"runArgs\"");
            text.contains("--security-opt") && !is_read
        },
        what: "this is a command line, not a profile",
        help: "give the file after `seccomp=`; without one it is docker-default or podman-default",
    },
    About {
        is: |text| {
            text.starts_with('{')
                && (text.contains("\"seccomp_string\"") || text.contains("\"seccompString\""))
        },
        what: "this is an nsjail configuration in JSON, which is not read",
        help: "give it in the text format of protocol buffers (.cfg), or its lines of `seccomp_string` as a Kafel policy",
    },
    About {
        is: |text| text.contains("bwrap") && text.contains("--seccomp"),
        what: "this is a command of bubblewrap, which reads its filter from a file descriptor",
        help: "give the file that the shell opens there, such as filter.bpf in `--seccomp 10 10< filter.bpf`",
    },
];

/// What an input is that is recognized, but not read; `None` for others.
pub(super) fn unread(bytes: &[u8]) -> Option<Diagnostic> {
    if bytes.starts_with(b"\x7fELF") {
        let message = "this is an ELF file, a program or a library, not a filter";
        return Some(Diagnostic::error(None, message).help(Advice::GenerateFromBinary));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if let Some(error) = second_program(text) {
        return Some(error);
    }
    if has_line(text, &["Seccomp:"]) && has_line(text, &["Pid:"]) {
        let message =
            "this is /proc/PID/status, which says that a process has filters, not what they do";
        return Some(Diagnostic::error(None, message).help(Advice::ReadProcess));
    }
    if let Some(about) = ABOUT.iter().find(|about| (about.is)(text.trim_start())) {
        return Some(Diagnostic::error(None, about.what).help(about.help));
    }
    let kind = KINDS.iter().find(|kind| (kind.is)(text))?;
    let error = Diagnostic::error(None, kind.what);
    Some(error.help(Advice::ReadProcessOr(kind.next)))
}

fn has_line(text: &str, starts: &[&str]) -> bool {
    text.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// Whether a line begins like this, after its indentation.
fn has_item(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(start))
}

/// The error for several programs where one is expected.
fn second_program(text: &str) -> Option<Diagnostic> {
    let programs = match programs(text) {
        Ok(programs) => programs.texts,
        Err(error) => return Some(error),
    };
    let second = programs.get(1)?;
    let line = second.bytes().take_while(|byte| *byte == b'\n').count() + 1;
    let position = Position { line: u32::try_from(line).ok()?, column: 1 };
    Some(
        Diagnostic::error(Some(position), "a second program begins here")
            .help("several programs are a stack; here, give one alone, in a file of its own"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_recognized_and_have_a_next_step() {
        let table = " line  CODE  JT   JF      K\n 0000: 0x06 0x00 0x00 0x7fff0000  return ALLOW\n";
        for (text, what) in [
            ("\x7fELF\x02", "this is an ELF file"),
            ("seccomp:\n  default_action: errno\n", "this is a configuration of Elastic Beats"),
            ("import sys\nimport seccomp\nf = seccomp.Filter(1)\n", "this program builds"),
            ("import libseccomp \"github.com/seccomp/libseccomp-golang\"\n", "this program builds"),
            ("[seccomp=unconfined apparmor=x]\n", "this is a list as `docker inspect --format`"),
            (
                "[no-new-privileges seccomp={\"a\":1}]",
                "this is a list as `docker inspect --format`",
            ),
            ("Name:         p\nData\n====\na.json:\n----\n{}\n", "this is what `kubectl describe`"),
            (
                "Server:\n Security Options:\n  seccomp\n   Profile: builtin\n",
                "this is what `docker info`",
            ),
            (
                "[containers]\nseccomp_profile = \"/p.json\"\n",
                "this is a configuration of Podman or CRI-O",
            ),
            ("lxc.uts.name = a\nlxc.seccomp.profile = /p\n", "this is a configuration of LXC"),
            ("Run `docker run --security-opt seccomp=p.json nginx`:\n", "this is a command line"),
            ("exec bwrap --seccomp 10 10< filter.bpf sh\n", "this is a command of bubblewrap"),
            ("Name:\tsh\nPid:\t1\nSeccomp:\t2\n", "this is /proc/PID/status"),
            (&table.repeat(2), "a second program begins here"),
        ] {
            let found = unread(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert!(found.message.starts_with(what), "{text}: {}", found.message);
            assert!(!found.help.is_empty(), "{text}");
        }
        assert_eq!(
            unread(table.repeat(2).as_bytes()).and_then(|one| one.position).map(|at| at.line),
            Some(3)
        );
        for text in [table, "ld [0]\nret #0\n", "2000000004000000\n", "1\n6 0 0 0\n", ""] {
            assert!(unread(text.as_bytes()).is_none(), "{text}");
        }
    }
}
