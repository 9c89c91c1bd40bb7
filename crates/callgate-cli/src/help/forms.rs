//! The forms of sources, for the full help and `callgate sources`.

use std::fmt::Write;

use callgate_formats::BUILT_INS;
use callgate_formats::languages::LANGUAGES;
use callgate_formats::layout::wrapped;

/// The forms of sources, each with what it is, as lines of help.
pub(crate) fn forms_of_sources() -> String {
    const PROGRAMS: &[(&str, &str)] = &[
        (
            "filter.bpf",
            "a program as raw instructions (struct sock_filter); for other file names, write bpf:NAME",
        ),
        (
            "bpftext:filter.txt",
            "a program as text: tcpdump -d, -dd or -ddd, hexadecimal, assembler, source code (C with --define), or the \
             listings of other tools",
        ),
        (
            "socket:filter.txt",
            "a socket filter, raw or as text, for `asm`, `disasm`, `simulate`, `explain`, `diff`, `optimize` and `bench engines`",
        ),
        ("-", "standard input"),
        (
            "pid:1234",
            "all filters of a running process or thread (needs root); pid:1234/0 is the oldest of them",
        ),
        (
            "preset:NAME",
            "a restriction of other filters, as in 'container-default ^ preset:no-io-uring'; also no-new-network, \
             no-unix-sockets, no-sockets, no-namespaces, no-ptrace, no-new-processes, and pure-compute, which allows little \
             else",
        ),
        (
            "'A + B - C ^ D'",
            "what A or B permits, without what C permits, and only what D permits as well, from left to right; B and C may be \
             syscalls, as in 'container-default + ptrace - userfaultfd'; C with a verdict: ptrace:ENOSYS",
        ),
    ];
    const VERSION: (&str, &str) = (
        "NAME@VERSION",
        "one of these as a release has it, as in docker-default@28.5; `callgate sources` lists the versions",
    );
    let languages = LANGUAGES.iter().flat_map(|language| language.forms);
    let built_in: Vec<(&str, &str)> = BUILT_INS.iter().map(|one| (one.name, one.what)).collect();
    let mut text = String::new();
    for (form, what) in built_in.iter().chain([&VERSION]).chain(languages).chain(PROGRAMS) {
        let lines = wrapped(what.split(' '), HELP_WIDTH - HELP_INDENT, " ");
        let indented = lines.join(&format!("\n{:HELP_INDENT$}", ""));
        let _ = writeln!(text, "  {form:<width$}{indented}", width = HELP_INDENT - 2);
    }
    text
}

/// The width of help, and of the column with the forms of sources.
const HELP_WIDTH: usize = 80;
const HELP_INDENT: usize = 23;
