//! Texts with several programs: listings below each other, and calls that strace logged.
//!
//! Each program is returned with everything else as blanks, so that positions in it are those of the text.

use crate::diagnostic::{Diagnostic, Position, error};

/// The most programs of a text. Each costs a copy of the text up to it.
const MOST: usize = 64;

/// The programs of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Each alone, the first first; empty for a text that is one program.
    pub texts: Vec<String>,
    /// Warnings about filters of which a log has no instructions. They can only deny more.
    pub warnings: Vec<Diagnostic>,
}

/// The programs of a text that has several. A log of strace is such a text even with one program.
///
/// ```
/// let listing = " line  CODE  JT   JF      K\n 0000: 0x06 0x00 0x00 0x7fff0000  return ALLOW\n";
/// assert_eq!(callgate_bpf::text::programs(&listing.repeat(2))?.texts.len(), 2);
/// assert!(callgate_bpf::text::programs(listing)?.texts.is_empty());
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// If there are more than 64, or if a log of strace has no instructions, lacks some of a filter, or has filters of several
/// processes.
pub fn programs(text: &str) -> Result<Programs, Diagnostic> {
    let (found, warnings) = match is_trace(text) {
        true => traced(text)?,
        false => (listings(text), Vec::new()),
    };
    if let Some((line, ..)) = found.get(MOST) {
        let at = Position { line: *line, column: 1 };
        let message = format!("the text has more than {MOST} programs");
        return Err(error(at, message).help("give the ones that are meant"));
    }
    let alone = |(line, column, program): &(u32, u32, &str)| {
        let lines = "\n".repeat(line.saturating_sub(1) as usize);
        format!("{lines}{}{program}\n", " ".repeat(column.saturating_sub(1) as usize))
    };
    Ok(Programs { texts: found.iter().map(alone).collect(), warnings })
}

/// Line and column of a program, and its text.
type Found<'t> = (u32, u32, &'t str);

/// The listings of seccomp-tools, libseccomp or firejail, if there are several: each begins with a header, or with instruction 0.
fn listings(text: &str) -> Vec<Found<'_>> {
    let is_header = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("line") && line.contains(" JT ") && line.contains(" JF ")
    };
    let is_first = |line: &str| line.trim_start().starts_with("0000: 0x");
    let starts = |is: &dyn Fn(&str) -> bool| {
        let mut offset = 0;
        let mut found = Vec::new();
        for (line, number) in text.split_inclusive('\n').zip(1u32..) {
            if is(line) {
                found.push((number, offset));
            }
            offset += line.len();
        }
        found
    };
    let mut found = starts(&is_header);
    if found.len() < 2 {
        found = starts(&is_first);
    }
    if found.len() < 2 {
        return Vec::new();
    }
    // What is before the first listing belongs to it.
    if let Some(first) = found.first_mut() {
        *first = (1, 0);
    }
    let ends = found.iter().skip(1).map(|(_, offset)| *offset).chain([text.len()]);
    let part = |((line, start), end): (&(u32, usize), usize)| {
        (*line, 1, text.get(*start..end).unwrap_or_default())
    };
    found.iter().zip(ends).map(part).collect()
}

/// The calls that install a filter, as strace shows them.
const CALLS: [&str; 2] =
    ["seccomp(SECCOMP_SET_MODE_FILTER, ", "prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, "];

fn is_trace(text: &str) -> bool {
    text.lines().any(|line| CALLS.iter().any(|call| line.contains(call)) && line.contains("{len="))
}

/// The programs of calls that succeeded, all of one process, and warnings about those without instructions.
fn traced(text: &str) -> Result<(Vec<Found<'_>>, Vec<Diagnostic>), Diagnostic> {
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut unknown: Vec<Position> = Vec::new();
    let mut process: Option<&str> = None;
    for (line, number) in text.lines().zip(1u32..) {
        let Some(call) = CALLS.iter().find_map(|call| line.find(call)) else { continue };
        if !line.contains("{len=") || line.contains(") = -1 ") {
            continue;
        }
        let at = |offset: usize| Position {
            line: number,
            column: u32::try_from(line.get(..offset).unwrap_or(line).chars().count() + 1)
                .unwrap_or(u32::MAX),
        };
        let who = process_of(line.get(..call).unwrap_or_default());
        if process.is_some_and(|first| first != who) {
            return Err(error(at(call), "another process installs this filter")
                .help("give the calls of one process"));
        }
        process = Some(who);
        let lacks = |offset: usize, what: &str| {
            error(at(offset), what).help("trace the program with strace -e abbrev=none")
        };
        let Some(start) = line.find("filter=[").map(|at| at + "filter=[".len()) else {
            unknown.push(at(call));
            continue;
        };
        let rest = line.get(start..).unwrap_or_default();
        let end = rest.find(']').ok_or_else(|| lacks(start, "the trace ends within the filter"))?;
        let program = rest.get(..end).unwrap_or_default();
        if let Some(dots) = program.find("...") {
            return Err(lacks(start + dots, "instructions of this filter are left out"));
        }
        found.push((number, at(start).column, program));
    }
    let what = "the trace has no instructions of this filter";
    let help = "trace the program with strace -e abbrev=none";
    match unknown.first().filter(|_| found.is_empty()) {
        Some(first) => Err(error(*first, what).help(help)),
        None => {
            let warning = |at: &Position| {
                let message = format!("{what}, which can only deny more");
                Diagnostic::warning(Some(*at), message).help(help)
            };
            Ok((found, unknown.iter().map(warning).collect()))
        }
    }
}

/// The process of a line: `[pid 12] `, `12 `, or nothing.
fn process_of(before: &str) -> &str {
    let before = before.trim();
    let number = before.strip_prefix("[pid").map_or(before, |rest| rest.trim_start());
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    number.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;
    use callgate_core::Endian;

    const LISTING: &str =
        " line  CODE  JT   JF      K\n=====\n 0000: 0x06 0x00 0x00 0x7fff0000  return ALLOW\n";
    const ALLOW: &str = "seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=1, filter=[BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ALLOW)]}) = 0\n";

    fn lengths(text: &str) -> Vec<usize> {
        let programs = programs(text).unwrap().texts;
        programs.iter().map(|one| parse(one, Endian::Little).unwrap().len()).collect()
    }

    #[test]
    fn each_listing_is_a_program_at_its_place() {
        assert_eq!(lengths(LISTING), [] as [usize; 0]);
        let bare = LISTING.lines().last().unwrap();
        let hex = " line  OP JT JF    K\n=====\n 0000: 06 00 00 7fff0000   ret ALLOW\n";
        for text in [LISTING.repeat(2), format!("{bare}\n{bare}\n"), hex.repeat(2)] {
            assert_eq!(lengths(&text), [1, 1], "{text}");
        }
        let wrong = LISTING.replace("0x06", "0xzz");
        let second = programs(&format!("{LISTING}{wrong}")).unwrap().texts.pop().unwrap();
        let error = parse(&second, Endian::Little).unwrap_err().diagnostics()[0].to_string();
        assert!(error.starts_with("6:8: "), "{error}");
        let many = programs(&LISTING.repeat(MOST + 1)).unwrap_err();
        assert!(many.message.contains("more than 64 programs"));
    }

    #[test]
    fn calls_in_a_trace_are_programs() {
        let prctl = ALLOW.replace("seccomp(SECCOMP_SET_MODE_FILTER, 0, ", CALLS[1]);
        assert_eq!(lengths(ALLOW), [1]);
        assert_eq!(lengths(&format!("read(0, \"\", 1) = 0\n{ALLOW}{prctl}")), [1, 1]);
        assert_eq!(lengths(&format!("[pid  7] {ALLOW}7     {prctl}")), [1, 1]);
        let failed = ALLOW.replace("= 0", "= -1 EACCES (Permission denied)");
        assert_eq!(lengths(&format!("{failed}{ALLOW}")), [1]);
        let error = |text: &str| programs(text).unwrap_err().to_string();
        let other = format!("[pid 7] {ALLOW}[pid 8] {ALLOW}");
        assert!(error(&other).contains("2:9: another process"), "{}", error(&other));
        let pointer = "seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=4, filter=0x7ffd1234}) = 0\n";
        assert!(
            error(pointer).contains("1:1: the trace has no instructions"),
            "{}",
            error(pointer)
        );
        let both = programs(&format!("{pointer}{ALLOW}")).unwrap();
        assert_eq!((both.texts.len(), both.warnings.len()), (1, 1));
        let short = ALLOW.replace("ALLOW)", "ALLOW), ...");
        assert!(error(&short).contains("are left out"), "{}", error(&short));
        let cut = ALLOW.split(']').next().unwrap();
        assert!(error(cut).contains("ends within the filter"), "{}", error(cut));
    }
}
