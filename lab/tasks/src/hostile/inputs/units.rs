//! Unit files of systemd.

use super::input::{Input, Reader, input, unit};
use std::io::Write;

const HEAD: &str = "[Service]\n";
const LIST: &str = "[Service]\nSystemCallFilter=";
const LISTED: &str = "[Service]\nSystemCallFilter=read";

/// A line of almost 1 MiB with syscalls, groups and unknown names; longer ones are refused.
fn long_line(n: u64, out: &mut Vec<u8>) {
    const WORDS: u64 = 40_000;
    let begin = if n.is_multiple_of(WORDS) { "\nSystemCallFilter=" } else { "" };
    let _ = write!(out, "{begin}read x{n} @basic-io ");
}

pub(super) const READERS: &[Reader] = &[Reader {
    name: "systemd unit",
    file: "hostile.service",
    beside: &[],
    most: None,
    is_log: false,
    commands: &[
        "compile hostile.service --arch x86_64 --kernel 6.12 -o /dev/null",
        "explain hostile.service --arch x86_64 --kernel 6.12",
    ],
    inputs: &[
        input!("values", HEAD, ["SystemCallFilter=read\n"], ""),
        input!(
            "lines of an allow list and a deny list",
            HEAD,
            ["SystemCallFilter=read\nSystemCallFilter=~read\n"],
            ""
        ),
        input!(
            "lists that begin again",
            HEAD,
            ["SystemCallFilter=read\nSystemCallFilter=\n"],
            "SystemCallFilter=read\n"
        ),
        input!("groups", HEAD, ["SystemCallFilter=@system-service\n"], ""),
        input!(
            "groups that are removed",
            HEAD,
            ["SystemCallFilter=@system-service\nSystemCallFilter=~@system-service\n"],
            ""
        ),
        input!("logged groups", HEAD, ["SystemCallLog=@known\n"], ""),
        input!(
            "unknown groups",
            HEAD,
            ["SystemCallFilter=@x{}\n", |n| n],
            "SystemCallFilter=read\n"
        ),
        input!(
            "unknown syscalls",
            HEAD,
            ["SystemCallFilter=x{}\n", |n| n],
            "SystemCallFilter=read\n"
        ),
        input!(
            "unknown syscalls of each line",
            HEAD,
            ["SystemCallFilter=read x{0} y{0} z{0} @v{0}\n", |n| n],
            ""
        ),
        input!(
            "syscalls with an errno",
            HEAD,
            ["SystemCallFilter=~read:{}\n", |n: u64| n % 4000],
            ""
        ),
        input!("unknown errnos", HEAD, ["SystemCallFilter=~read:X{}\n", |n| n], ""),
        input!(
            "errnos",
            HEAD,
            ["SystemCallErrorNumber={}\n", |n: u64| n % 5000],
            "SystemCallFilter=read\n"
        ),
        input!(
            "names of errnos that are unknown",
            HEAD,
            ["SystemCallErrorNumber=E{}\n", |n| n],
            "SystemCallFilter=read\n"
        ),
        input!("continuations", LIST, ["read \\\n"], "\n"),
        input!("empty continuations", LISTED, ["\\\n"], "\n"),
        Input::new("lines of almost 1 MiB", HEAD, long_line, ""),
        input!("one line", LIST, ["read "], "\n"),
        input!("comments between continuations", LISTED, ["\\\n# c\n"], "\n"),
        input!("unknown keys", HEAD, ["Key{}=1\n", |n| n], "SystemCallFilter=read\n"),
        input!(
            "keys that resemble others",
            HEAD,
            ["SystemCallFilte{}=read\n", |n| n],
            "SystemCallFilter=read\n"
        ),
        input!("one key", HEAD, ["abcdefgh"], "=1\n"),
        input!("lines without =", HEAD, ["SystemCallFilter\n"], ""),
        input!("sections", HEAD, ["[Service]\n"], "SystemCallFilter=read\n"),
        input!("other sections", HEAD, ["[S{}]\nSystemCallFilter=read\n", |n| n], ""),
        input!("headers that end nowhere", HEAD, ["[\n"], ""),
        input!("families", HEAD, ["RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n"], ""),
        input!(
            "families that are removed",
            HEAD,
            ["RestrictAddressFamilies=~AF_UNIX AF_INET\nRestrictAddressFamilies=none\n"],
            "RestrictAddressFamilies=AF_UNIX\n"
        ),
        input!(
            "unknown families",
            HEAD,
            ["RestrictAddressFamilies=AF_{}\n", |n| n],
            "RestrictAddressFamilies=AF_UNIX\n"
        ),
        input!(
            "namespaces",
            HEAD,
            ["RestrictNamespaces=~user mnt net x{}\n", |n| n],
            "RestrictNamespaces=yes\n"
        ),
        input!(
            "architectures",
            HEAD,
            ["SystemCallArchitectures=native x86 x{}\n", |n| n],
            "SystemCallArchitectures=native\n"
        ),
        input!(
            "all other directives",
            HEAD,
            [
                "ProtectHostname=yes\nMemoryDenyWriteExecute=yes\nRestrictRealtime=yes\nRestrictSUIDSGID=yes\nProtectKernelTunables=yes\nProtectKernelModules=yes\nProtectKernelLogs=yes\nProtectClock=yes\nPrivateDevices=yes\nLockPersonality=yes\nSystemCallLog=@known\nSystemCallFilter=@system-service\n"
            ],
            ""
        ),
        input!(
            "values that are not booleans",
            HEAD,
            ["RestrictRealtime=x{}\n", |n| n],
            "RestrictRealtime=yes\n"
        ),
        input!(
            "commands without filters",
            HEAD,
            ["ExecStart=+/bin/true\n"],
            "SystemCallFilter=read\n"
        ),
        input!("escapes", LIST, ["\\\\x"], "\n"),
        input!("quotes", HEAD, ["SystemCallArchitectures='x\n"], "SystemCallFilter=read\n"),
        input!("comments", "", ["# c\n"], "[Service]\nSystemCallFilter=read\n"),
        input!("CRLF", HEAD, ["SystemCallFilter=read\r\n"], ""),
        input!("CR", HEAD, ["\r"], "SystemCallFilter=read\n"),
        input!("newlines", HEAD, ["\n"], "SystemCallFilter=read\n"),
        input!("tabs", LISTED, ["\t"], "\n"),
        input!("NUL", HEAD, ["\0"], ""),
        Input::new("invalid UTF-8", HEAD, |_, out| out.extend(b"\xff\xfe"), ""),
    ],
}];
