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

/// The programs of a text that has several. A strace log is such a text even with one program.
///
/// ```
/// let listing = " line  CODE  JT   JF      K\n 0000: 0x06 0x00 0x00 0x7fff0000  return ALLOW\n";
/// assert_eq!(callgate_bpf::text::programs(&listing.repeat(2))?.texts.len(), 2);
/// assert!(callgate_bpf::text::programs(listing)?.texts.is_empty());
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// If there are more than 64, or if a strace log has no instructions, lacks some of a filter, or has filters of several
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

pub(super) fn is_trace(text: &str) -> bool {
    text.lines().any(|line| CALLS.iter().any(|call| line.contains(call)) && line.contains("{len="))
}

/// The programs of calls that succeeded, all of one process, and a warning about those without instructions.
fn traced(text: &str) -> Result<(Vec<Found<'_>>, Vec<Diagnostic>), Diagnostic> {
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut unknown: Option<(Position, usize)> = None;
    let mut process: Option<&str> = None;
    for (line, number) in text.lines().zip(1u32..) {
        let Some(call) = CALLS.iter().find_map(|call| line.find(call)) else { continue };
        let Some((_, length)) = line.split_once("{len=") else { continue };
        let at = |offset: usize| Position {
            line: number,
            column: u32::try_from(line.get(..offset).unwrap_or(line).chars().count() + 1)
                .unwrap_or(u32::MAX),
        };
        match is_installed(line) {
            Some(true) => {}
            Some(false) => continue,
            None => {
                return Err(error(at(call), "the trace does not show whether this call succeeded")
                    .help(
                        "give the call with its result in one line: strace without -f writes it so",
                    ));
            }
        }
        // What the process did before it had children has no number. They inherit its filters.
        let who = process_of(line.get(..call).unwrap_or_default());
        if process.is_some() && process != who {
            return Err(error(at(call), "another process installs this filter")
                .help("give the calls of one process"));
        }
        process = who;
        let Some(start) = line.find("filter=[").map(|at| at + "filter=[".len()) else {
            unknown = Some(unknown.map_or((at(call), 1), |(first, count)| (first, count + 1)));
            continue;
        };
        let lacks = |offset: usize, what: String| error(at(offset), what).help(ABBREVIATED);
        let rest = line.get(start..).unwrap_or_default();
        let end = rest.find(']');
        let end = end.ok_or_else(|| lacks(start, "the trace ends within the filter".to_owned()))?;
        let program = rest.get(..end).unwrap_or_default();
        let shown = program.matches("BPF_STMT(").count() + program.matches("BPF_JUMP(").count();
        let digits = length.find(|c: char| !c.is_ascii_digit()).unwrap_or(length.len());
        if length.get(..digits) != Some(shown.to_string().as_str()) {
            let whole = length.get(..digits).unwrap_or_default();
            return Err(lacks(
                start,
                format!("the trace has {shown} of the {whole} instructions of this filter"),
            ));
        }
        found.push((number, at(start).column, program));
    }
    let what = "the trace has no instructions of this filter";
    match unknown {
        Some((first, _)) if found.is_empty() => Err(error(first, what).help(ABBREVIATED)),
        Some((first, count)) => {
            let more =
                if count > 1 { format!(", and of {} more", count - 1) } else { String::new() };
            let message = format!("{what}{more}; what is not read can only deny more");
            Ok((found, vec![Diagnostic::warning(Some(first), message).help(ABBREVIATED)]))
        }
        None => Ok((found, Vec::new())),
    }
}

/// What shows all instructions.
const ABBREVIATED: &str = "trace the program with strace -e abbrev=none";

/// Whether a call has installed its filter; `None` if the line does not have its result. Without a listener, a positive result
/// of TSYNC is a thread that could not get the filter.
fn is_installed(line: &str) -> Option<bool> {
    let (call, result) = line.rsplit_once(") = ")?;
    let end = result.find(' ').unwrap_or(result.len());
    let result: i64 = result.get(..end)?.parse().ok()?;
    let only_zero = call.contains("FLAG_TSYNC") && !call.contains("NEW_LISTENER");
    Some(result == 0 || result > 0 && !only_zero)
}

/// The process of a line: `[pid 12] `, or `12 ` at its start, also before a time.
fn process_of(before: &str) -> Option<&str> {
    let word = match before.trim_start().strip_prefix("[pid") {
        Some(rest) => rest.split(']').next()?.trim(),
        None => before.split_whitespace().next()?,
    };
    Some(word).filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
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
        assert_eq!(lengths(&format!("1700000000.1 {ALLOW}1700000001.1 {prctl}")), [1, 1]);
        assert_eq!(lengths(&format!("{ALLOW}[pid  7] {ALLOW}")), [1, 1]);
        let sync = ALLOW.replace(", 0, {", ", SECCOMP_FILTER_FLAG_TSYNC, {");
        for failed in
            [ALLOW.replace("= 0", "= -1 EACCES (Permission denied)"), sync.replace("= 0", "= 4321")]
        {
            assert_eq!(lengths(&format!("{failed}{ALLOW}")), [1], "{failed}");
        }
        let listens = ALLOW.replace(", 0, {", ", SECCOMP_FILTER_FLAG_NEW_LISTENER, {");
        assert_eq!(lengths(&format!("{sync}{}", listens.replace("= 0", "= 3"))), [1, 1]);
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
        let many = programs(&format!("{}{ALLOW}", pointer.repeat(1000))).unwrap();
        assert_eq!(many.warnings.len(), 1);
        let short = ALLOW.replace("len=1", "len=3");
        assert!(error(&short).contains("1 of the 3 instructions"), "{}", error(&short));
        for open in ["<unfinished ...>\n", ") = ?\n"] {
            let open = ALLOW.replace(") = 0\n", open);
            assert!(error(&open).contains("whether this call succeeded"), "{}", error(&open));
        }
        let cut = ALLOW.replace(']', "");
        assert!(error(&cut).contains("ends within the filter"), "{}", error(&cut));
    }
}
