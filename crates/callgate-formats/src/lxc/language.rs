//! LXC in the [registry](crate::languages): how profiles are recognized and changed.

use std::fmt::Write;

use super::read::{ReadOptions, read as read_texts};
use super::write;
use crate::change::input::{Edit, EditInput, line_after, line_at_end, logical_line, without_line};
use crate::change::verify::Compared;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, ReadResult, ReadSource, Reading, Writer,
};
use callgate_bpf::SyscallTable;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::written("lxc", &WRITER)],
    forms: &[("lxc:FILE", "an LXC seccomp profile; `lxc:` may be omitted")],
    likeness,
    editor: Some(Editor::of(edits)),
    ..Language::of("an LXC profile", "lxc", read)
};

const WRITER: Writer = Writer::of("seccomp.profile", |fit, _| write::write(fit));

fn likeness(_: Option<&str>, text: &[u8]) -> Likeness {
    Likeness::of_text(is_lxc_profile(text))
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let Reading { strict, statements, .. } = *reading;
    let options = ReadOptions { native: reading.host(), strict, statements };
    Ok(ReadSource::of(read_texts(input.text(), &options)?))
}

/// Whether a text begins as a profile: with a version and a policy. A number and a line break may also begin the output
/// of `tcpdump -ddd`.
fn is_lxc_profile(text: &[u8]) -> bool {
    const POLICIES: [&[u8]; 4] = [b"allowlist", b"denylist", b"whitelist", b"blacklist"];
    let text = text.trim_ascii_start();
    let policy = text.strip_prefix(b"1").or_else(|| text.strip_prefix(b"2"));
    let policy = policy.filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace));
    policy.is_some_and(|rest| POLICIES.iter().any(|name| rest.trim_ascii_start().starts_with(name)))
}

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let text = input.text;
    let is_first_version = text.trim_start().starts_with('1');
    let denying = input.denying();
    let mut found = Vec::new();
    if !denying.is_empty() && input.wanted.args.is_empty() {
        let removed = denying.iter().map(|at| without_line(text, logical_line(text, *at)));
        found.push(removed.collect());
    }
    let Some(line) = line(input, is_first_version) else { return found };
    // Beside the others, and not at the end, where another architecture's section may be.
    let allowing = input.allowing();
    let mut sections = text.match_indices("\n[").map(|(at, _)| at);
    let first = allowing.first().copied().unwrap_or_default();
    let next_section = sections.find(|at| *at > first).unwrap_or(text.len());
    if let Some(at) = allowing.range(..next_section).next_back().copied() {
        found.push(vec![line_after(text, &logical_line(text, at), &line)]);
    }
    found.push(vec![line_at_end(text, &line)]);
    found
}

fn line(input: &EditInput<'_>, is_first_version: bool) -> Option<String> {
    let wanted = input.wanted;
    if is_first_version {
        let nr = wanted.arch.number(&wanted.name)?;
        return wanted.args.is_empty().then(|| nr.to_string());
    }
    let mut line = wanted.name.clone();
    if !wanted.args.is_empty() {
        line.push_str(" allow");
    }
    for Compared { index, value, is_low, .. } in wanted.compared() {
        let _ = match is_low {
            true => write!(line, " [{index},{value},SCMP_CMP_MASKED_EQ,{:#x}]", u32::MAX),
            false => write!(line, " [{index},{value},SCMP_CMP_EQ]"),
        };
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_begin_with_a_version_and_a_policy() {
        for profile in
            ["2\ndenylist", "1\nallowlist\n3", " 2\r\n\nblacklist errno 1", "2 whitelist"]
        {
            assert!(is_lxc_profile(profile.as_bytes()), "{profile}");
        }
        for text in ["", "2", "2\n32 0 0 4\n6 0 0 0", "3\ndenylist", "21\ndenylist", "denylist"] {
            assert!(!is_lxc_profile(text.as_bytes()), "{text}");
        }
    }
}
