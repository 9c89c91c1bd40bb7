//! Which syscall a name or a number is, what it is for, and what usual filters do with it: the answer without a filter.

use callgate::Arch;
use callgate::purposes::{Purpose, danger, danger_in_words};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::{known_name, name_in_constant};
use callgate_requests::json::Json;
use callgate_requests::syscall::parse_number;
use callgate_trace::recording::SyscallId;

use super::args::WhyArgs;
use super::log::{Usual, given_arch, usual_of};
use crate::options::{Format, SourceOptions, native_arch};
use crate::output::{self, wrap};
use crate::report::{Failure, Result};

/// A word for a syscall: `425`, `0x1a9`, `NR=425`, `syscall=165`, `clone3`, `__NR_clone3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Number(u32),
    Name(&'static str),
}

/// The syscall behind a key such as `syscall=`, or the whole text.
pub(super) fn without_key(text: &str) -> &str {
    const KEYS: [&str; 5] = ["syscall", "nr", "sysno", "scno", "syscall nr"];
    let text = text.trim();
    let parts = text.split_once(['=', ':']).or_else(|| text.rsplit_once(' '));
    let Some((key, value)) = parts else { return text };
    let value = value.trim();
    let is_key = KEYS.iter().any(|one| key.trim().eq_ignore_ascii_case(one));
    if is_key && Word::parse(value).is_some() { value } else { text }
}

impl Word {
    /// `None` for other words.
    pub(super) fn parse(text: &str) -> Option<Word> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return parse_number(text).ok().map(Word::Number);
        }
        known_name(name_in_constant(text).unwrap_or(text)).map(Word::Name)
    }

    /// The architectures that have it, by name and number: those of this architecture first.
    fn places(self, first: Arch) -> Vec<(&'static str, u32, Vec<Arch>)> {
        let rest = Arch::ALL.iter().copied().filter(|arch| *arch != first);
        let mut places: Vec<(&'static str, u32, Vec<Arch>)> = Vec::new();
        for arch in std::iter::once(first).chain(rest) {
            let found = match self {
                Word::Number(nr) => arch.syscall_name(nr).map(|name| (name, nr)),
                Word::Name(name) => arch.number(name).map(|nr| (name, nr)),
            };
            let Some((name, nr)) = found else { continue };
            match places.iter_mut().find(|(known, number, _)| (*known, *number) == (name, nr)) {
                Some((_, _, arches)) => arches.push(arch),
                None => places.push((name, nr, vec![arch])),
            }
        }
        places
    }
}

/// Prints which syscall a word is.
pub(super) fn run(args: &WhyArgs, word: Word, reading: &SourceOptions) -> Result<u8> {
    let format = args.format.metrics().err().ok_or_else(|| {
        Failure::new("only the denials of a log can be metrics")
            .help("give --from LOG, or use --format text or json")
    })?;
    if args.patch.is_some() {
        return Err(Failure::new("a patch needs the filter")
            .help("give a SOURCE before the syscall, or omit --patch"));
    }
    let first = given_arch(reading).map_or_else(native_arch, Ok)?;
    let places = word.places(first);
    let Some((name, nr, arches)) = places.first() else {
        let what = match word {
            Word::Number(nr) => format!("no syscall has the number {nr}"),
            Word::Name(name) => format!("no architecture has the syscall {name}"),
        };
        return Err(
            Failure::new(what).help("`callgate explain container-default --order name` lists all")
        );
    };
    let arch = arches.first().copied().unwrap_or(first);
    let usual = usual_of(SyscallId::new(arch, *nr), reading)?;
    output::print(&match format {
        Format::Text => text(word, arch, name, &places, usual.as_ref()),
        Format::Json => format!("{}\n", json(name, &places, usual.as_ref())),
    })?;
    Ok(0)
}

fn text(
    word: Word,
    arch: Arch,
    name: &str,
    places: &[(&str, u32, Vec<Arch>)],
    usual: Option<&Usual>,
) -> String {
    let mut text = String::new();
    for (index, (name, nr, arches)) in places.iter().enumerate() {
        let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        let on = names.join(", ");
        let line = match (word, index) {
            (Word::Number(_), 0) => format!("{nr} is {name} on {on}"),
            (Word::Name(_), 0) => format!("{name} is number {nr} on {on}"),
            (Word::Number(_), _) => format!("{name} on {on}"),
            (Word::Name(_), _) => format!("{nr} on {on}"),
        };
        if index > 0 {
            text.push_str("  ");
        }
        let used = if index > 0 { 2 } else { 0 };
        wrap(&mut text, &line, used, used + 2);
    }
    text.push('\n');
    wrap(&mut text, &format!("{} {name}:", arch.name()), 0, 2);
    let mut say = |line: &str| {
        text.push_str("  ");
        wrap(&mut text, line, 2, 4);
    };
    if let Some(purpose) = Purpose::of(name) {
        let title = purpose.title().to_lowercase();
        say(&format!("for {title}: syscalls with which a process can {}", purpose.description()));
    }
    danger_in_words(name, &[None; 6], arch).iter().for_each(|danger| say(danger));
    usual.map(|usual| usual.sentences(None)).iter().flatten().for_each(|line| say(line));
    text.push('\n');
    let next = format!(
        "for the verdict of a filter: callgate why SOURCE {name}, where SOURCE is a profile, a unit (NAME.service), docker-default or pid:N"
    );
    wrap(&mut text, &next, 0, 2);
    text
}

fn json(name: &str, places: &[(&str, u32, Vec<Arch>)], usual: Option<&Usual>) -> Json {
    let on = places.iter().flat_map(|(name, nr, arches)| {
        arches.iter().map(move |arch| {
            Json::Object(vec![
                ("arch", arch.name().into()),
                ("call", (*name).into()),
                ("nr", (*nr).into()),
            ])
        })
    });
    Json::Object(vec![
        ("call", name.into()),
        ("on", Json::array(on)),
        ("purpose", Purpose::of(name).map(Purpose::id).into()),
        ("danger", danger(name).map(|danger| danger.reason).into()),
        ("usual", usual.map(Usual::json).into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_syscalls_with_and_without_a_key() {
        let io_uring = Some(Word::Name("io_uring_setup"));
        for (text, word) in [
            ("425", Some(Word::Number(425))),
            ("0x1a9", Some(Word::Number(425))),
            ("syscall=425", Some(Word::Number(425))),
            ("NR=425", Some(Word::Number(425))),
            ("syscall 425", Some(Word::Number(425))),
            ("nr: 425", Some(Word::Number(425))),
            ("io_uring_setup", io_uring),
            ("__NR_io_uring_setup", io_uring),
            ("syscall=io_uring_setup", io_uring),
            ("signal=31", None),
            ("syscall=x", None),
            ("denied syscall 425", None),
            ("app.json", None),
            ("", None),
        ] {
            assert_eq!(Word::parse(without_key(text)), word, "{text}");
        }
    }

    #[test]
    fn a_number_is_another_syscall_on_another_architecture() {
        let of = |word: Word, arch| {
            let places = word.places(arch);
            places.first().map(|(name, nr, arches)| (*name, *nr, arches.first().copied()))
        };
        let x86_64 = Arch::X86_64;
        assert_eq!(of(Word::Number(165), x86_64), Some(("mount", 165, Some(x86_64))));
        let aarch64 = Arch::Aarch64;
        assert_eq!(of(Word::Number(165), aarch64), Some(("getrusage", 165, Some(aarch64))));
        assert_eq!(of(Word::Name("mount"), aarch64), Some(("mount", 40, Some(aarch64))));
        assert_eq!(of(Word::Number(99_999), x86_64), None);
    }
}
