//! The syscalls of `--calls` and `--calls-from`, with their arguments.

use callgate_bpf::SyscallTable;
use std::path::Path;

use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_bpf::syscalls::nearest_name;
use callgate_measure::MeasurableSyscall;
use callgate_requests::syscall;
use callgate_trace::recording::SyscallStats;

use crate::options::native_arch;
use crate::recordings::{self, RecordingOptions};
use crate::report::{Failure, Result};

/// The maximum number of syscalls that are selected by their frequency.
pub(super) const MOST_CALLS: usize = 12;

/// The origin of messages about the option.
const OPTION: &str = "--calls";

/// An item of a list: a name, perhaps with arguments in parentheses, and the offsets of both.
struct Item<'t> {
    at: usize,
    name: &'t str,
    args: Option<Vec<(usize, &'t str)>>,
}

/// Parses lists such as `getpid, ioctl(0, TIOCGWINSZ)`; each syscall is kept once.
pub(super) fn parse(lists: &[String]) -> Result<Vec<MeasurableSyscall>> {
    let mut calls: Vec<MeasurableSyscall> = Vec::new();
    for list in lists {
        let fail = |(at, mut message): (usize, Diagnostic)| {
            message.position = Some(Position::of(list, at));
            Failure::of(OPTION, vec![message])
        };
        for item in items(list).map_err(fail)? {
            let call = resolved(&item).map_err(fail)?;
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
    }
    Ok(calls)
}

type Located<T> = std::result::Result<T, (usize, Diagnostic)>;

fn error(at: usize, message: String, help: &str) -> (usize, Diagnostic) {
    (at, Diagnostic::error(None, message).help(help))
}

fn items(list: &str) -> Located<Vec<Item<'_>>> {
    let mut items = Vec::new();
    let mut start = 0;
    loop {
        let rest = &list[start..];
        let end = rest.find([',', '(', ')']).map_or(list.len(), |at| start + at);
        let (at, name) = trimmed(list, start, end);
        let mut item = Item { at, name, args: None };
        let mut next = end;
        match list[end..].chars().next() {
            Some(')') => {
                let help = "write a syscall as name(argument, argument)";
                return Err(error(end, "unexpected )".to_owned(), help));
            }
            Some('(') => {
                let (args, behind) = arguments(list, end)?;
                item.args = Some(args);
                next = list[behind..].find(',').map_or(list.len(), |at| behind + at);
                let (at, more) = trimmed(list, behind, next);
                if !more.is_empty() {
                    let message = format!("unexpected \"{more}\" after the arguments");
                    return Err(error(at, message, "separate syscalls with commas"));
                }
            }
            _ => {}
        }
        items.push(item);
        if next >= list.len() {
            return Ok(items);
        }
        start = next + 1;
    }
}

/// The arguments after an opening parenthesis, and the offset behind the closing one.
fn arguments(list: &str, open: usize) -> Located<(Vec<(usize, &str)>, usize)> {
    let Some(close) = list[open..].find(')').map(|at| open + at) else {
        let help = "write a syscall as name(argument, argument)";
        return Err(error(open, "this parenthesis is not closed".to_owned(), help));
    };
    let mut args = Vec::new();
    let mut start = open + 1;
    if trimmed(list, start, close).1.is_empty() {
        return Ok((args, close + 1));
    }
    loop {
        let end = list[start..close].find(',').map_or(close, |at| start + at);
        let (at, text) = trimmed(list, start, end);
        if args.len() == 6 {
            let message = "a syscall has at most 6 arguments".to_owned();
            return Err(error(at, message, "omit the others"));
        }
        args.push((at, text));
        if end == close {
            return Ok((args, close + 1));
        }
        start = end + 1;
    }
}

/// The part of a text without white space at its ends, and its offset.
fn trimmed(text: &str, start: usize, end: usize) -> (usize, &str) {
    let part = &text[start..end];
    let skipped = part.len() - part.trim_start().len();
    (start + skipped.min(part.len()), part.trim())
}

fn resolved(item: &Item<'_>) -> Located<MeasurableSyscall> {
    let call = found(item.name).map_err(|message| (item.at, message))?;
    let Some(args) = &item.args else { return Ok(call) };
    let mut values = [0; 6];
    for (slot, (at, text)) in values.iter_mut().zip(args) {
        *slot = match *text {
            "\"\"" => MeasurableSyscall::empty_path(),
            text => {
                let arch = native_arch().ok();
                syscall::parse_argument(arch, text).map_err(|message| (*at, message))?
            }
        };
    }
    call.with_args(values).map_err(|why| {
        let place = args.get(why.slot().unwrap_or(0)).map_or(item.at, |(at, _)| *at);
        error(place, why.to_string(), why.help())
    })
}

/// The syscall of a name or number, with the arguments of the table.
fn found(name: &str) -> std::result::Result<MeasurableSyscall, Diagnostic> {
    let arch = native_arch().ok();
    let by_number = name.parse().ok().and_then(|nr| arch?.syscall_name(nr));
    if let Some(call) = MeasurableSyscall::find(by_number.unwrap_or(name)) {
        return Ok(call);
    }
    let known = by_number.is_some() || arch.is_some_and(|arch| arch.number(name).is_some());
    if name.is_empty() {
        let help = "write names with commas between them, such as getpid,read";
        return Err(Diagnostic::error(None, "a syscall is missing".to_owned()).help(help));
    }
    let what = if known { "cannot be measured" } else { "is not a syscall of this machine" };
    let near = nearest_name(name).filter(|_| !known);
    let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
    Err(Diagnostic::error(None, format!("{name} {what}"))
        .help(format!("--list-calls prints the syscalls that can be measured{near}")))
}

/// A syscall as in `--calls`; chosen arguments as constants.
pub(super) fn title(call: &MeasurableSyscall) -> String {
    let has_path = call.args().contains(&MeasurableSyscall::empty_path());
    match native_arch() {
        Ok(arch) if call.is_chosen() && !has_path => {
            syscall::show(Some(arch), &call.data()).replace("0xffffffffffffffff", "-1")
        }
        _ => call.show(),
    }
}

/// The syscalls of a recording that can be measured, each with its share of all syscalls of this machine.
///
/// An argument with a single recorded value has this value, unless the syscall could then have an effect; the others are
/// those of the table.
pub(super) fn recorded(file: &Path, strict: bool) -> Result<Vec<(MeasurableSyscall, f64)>> {
    let native = native_arch()?;
    let options = RecordingOptions { arch: Some(native), strict, partial: false };
    let all = recordings::read_all(&[file], options)?;
    let mut calls = Vec::new();
    for one in &all {
        let of_machine = || one.recording.syscalls().filter(|(id, _)| id.arch == native);
        let total: f64 = of_machine().map(|(_, stats)| stats.count() as f64).sum();
        calls.extend(of_machine().filter_map(|(id, stats)| {
            let call = MeasurableSyscall::find(id.name()?)?;
            Some((with_recorded_args(call, stats), stats.count() as f64 / total))
        }));
        if calls.is_empty() {
            let message = format!("none of the syscalls of {native} in it can be measured");
            return Err(Failure::about(&one.name, message)
                .help("--list-calls prints the syscalls that can be measured"));
        }
    }
    Ok(calls)
}

/// The syscall with each argument that always had the same value, unless it could then have an effect.
pub(super) fn with_recorded_args(
    call: MeasurableSyscall,
    stats: &SyscallStats,
) -> MeasurableSyscall {
    let mut chosen = call;
    for (slot, values) in stats.args().iter().enumerate().filter(|(slot, _)| stats.is_known(*slot))
    {
        let (Some([value]), Some(_)) = (values.all(), call.args().get(slot)) else { continue };
        let mut args = chosen.args();
        args[slot] = *value;
        chosen = call.with_args(args).unwrap_or(chosen);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(list: &str) -> Vec<String> {
        parse(&[list.to_owned()]).unwrap().iter().map(title).collect()
    }

    #[test]
    fn syscalls_may_have_arguments() {
        let list =
            " sendmmsg( 3, 0x0,0, MSG_DONTWAIT ) ,ioctl(0, TIOCGWINSZ), ppoll,close(-1),getpid";
        let wanted = [
            "sendmmsg(3, 0, 0, MSG_DONTWAIT)",
            "ioctl(0, TIOCGWINSZ)",
            "ppoll(0, 0xffffffff)",
            "close(-1)",
            "getpid()",
        ];
        assert_eq!(titles(list), wanted);
        assert_eq!(titles("openat(AT_FDCWD, \"\"),getpid,getpid()").len(), 2);
        assert_eq!(titles("futex()"), ["futex()"]);
    }

    #[test]
    fn errors_have_a_position() {
        for (list, place, what) in [
            ("getpid, getpdi", "--calls:1:9", "not a syscall"),
            ("getpid,", "--calls:1:8", "is missing"),
            ("fork", "--calls:1:1", "cannot be measured"),
            ("ioctl(0, TIOCGWINZ)", "--calls:1:10", "TIOCGWINZ"),
            ("ioctl(0, 08)", "--calls:1:10", "write 8"),
            ("ioctl(0", "--calls:1:6", "not closed"),
            ("ioctl)", "--calls:1:6", "unexpected )"),
            ("ioctl(0) getpid", "--calls:1:10", "unexpected"),
            ("ioctl(1,2,3,4,5,6,7)", "--calls:1:19", "at most 6"),
            ("getpid, ppoll(0, 0, 0)", "--calls:1:15", "would wait"),
            ("poll(0, 0, 1)", "--calls:1:12", "argument 3 (0x1)"),
            ("futex(0, 0, 0, 0x7fff00000000)", "--calls:1:16", "argument 4 (0x7fff00000000)"),
            ("ioctl(,)", "--calls:1:7", "argument"),
        ] {
            let failure = format!("{:?}", parse(&[list.to_owned()]).unwrap_err());
            let (line, column) = place.rsplit_once(':').unwrap();
            assert_eq!(line, "--calls:1");
            assert!(failure.contains(&format!("column: {column}")), "{list}: {failure}");
            assert!(failure.contains(what), "{list}: {failure}");
        }
    }
}
