//! Denials as text without a filter: which syscalls they are, what they are for, and who denied them.

use std::collections::BTreeMap;

use callgate::purposes::{Purpose, danger_in_words};
use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_requests::kernel_checks::elsewhere;
use callgate_requests::logged::{action, data};
use callgate_requests::syscall;
use callgate_trace::denials::{Denial, DenialLog, MAX_DENIALS};
use callgate_trace::recording::SyscallId;

use super::text::{after_none, logged, occurrence, summary, unread};
use super::usual::{InContainer, Usual, denial_of};
use crate::output::wrap;
use crate::text::printable;

/// What a log contains, and each denial.
pub(super) fn log(
    name: &str,
    arch: Arch,
    log: &DenialLog,
    outside: &BTreeMap<Arch, u64>,
    failures: &Failures,
    usual_of_failures: &[Usual],
    usual: &[Usual],
) -> String {
    let unrelated = failures.count;
    let mut text = String::new();
    let mut parts = summary(arch, log, outside);
    if unrelated > 0 {
        let calls = crate::text::counted(unrelated, "syscall");
        parts.push(format!("{calls} failed, perhaps because of a filter, which is not given"));
    }
    wrap(&mut text, &format!("{}: {}", printable(name), parts.join("; ")), 0, 2);
    unread(&mut text, log);
    after_none(&mut text, log, outside);
    failures.list(&mut text, usual_of_failures);
    logged(&mut text, log);
    for (index, one) in log.denials.iter().enumerate() {
        text.push('\n');
        wrap(&mut text, &format!("{}:", occurrence(one)), 0, 2);
        let usual = usual.get(index).filter(|_| !log.is_of_android);
        denial(&mut text, one, usual, log.is_of_android, log.assumed_arch > 0);
        if log.is_of_android {
            text.push_str("  ");
            wrap(&mut text, ANDROID, 2, 4);
        }
    }
    if log.is_of_android {
        text.push('\n');
        wrap(&mut text, ANDROID_NEXT, 0, 2);
    } else if !log.denials.is_empty() || unrelated > 0 {
        text.push('\n');
        // A default profile of containers sends no signal.
        let is_signal = unrelated == 0 && usual.iter().all(|usual| usual.is_signal);
        let next = match is_signal {
            true => {
                let mut programs = log.denials.iter().flat_map(|one| &one.programs);
                let program = programs.next().map(|(name, _)| name.as_str());
                let program = program.filter(|name| is_plain(name) && programs.next().is_none());
                let unit = program.map_or_else(String::new, |name| {
                    format!(" (`ps -o unit= -C {name}` prints its unit there)")
                });
                format!(
                    "for the rule that denies it and a change that allows it, if systemd started the program: on that machine, `callgate \
                     why NAME.service --from LOG`{unit}; otherwise give a profile or pid:N in place of the unit"
                )
            }
            false => "for the rule that denies it and a change that allows it, give the filter: callgate why SOURCE --from LOG, where \
                      SOURCE is a profile, a unit (NAME.service), docker-default or pid:N"
                .to_owned(),
        };
        wrap(&mut text, &next, 0, 2);
    }
    text
}

/// Who denied what a crash dump of Android reports.
const ANDROID: &str = "Android's filter for apps denied it: it allows what Android's C library makes, and no profile of the app changes it; the \
                       app must do without the syscall";

/// What tells more about it.
const ANDROID_NEXT: &str = "for what a version of Android allows: callgate why android:DIRECTORY#app SYSCALL, where DIRECTORY is bionic's directory libc \
                            of this version";

/// Whether the name of a program can be a word of a shell.
fn is_plain(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part)
}

/// Syscalls that failed, perhaps because of a filter.
#[derive(Default)]
pub(super) struct Failures {
    pub(super) count: u64,
    /// How often each failed with an error that filters usually return.
    calls: BTreeMap<(SyscallId, u16), u64>,
}

impl Failures {
    /// The syscalls, each with its error and how often it failed.
    pub(super) fn each(&self) -> impl Iterator<Item = (SyscallId, u16, u64)> {
        self.calls.iter().map(|((call, errno), count)| (*call, *errno, *count))
    }

    pub(super) fn add(&mut self, syscall: SyscallId, errno: u16) {
        const EPERM: u16 = 1;
        const EACCES: u16 = 13;
        self.count += 1;
        let is_usual = [EPERM, EACCES, syscall.arch.enosys()].contains(&errno);
        let key = (syscall, errno);
        if is_usual && (self.calls.len() < MAX_DENIALS || self.calls.contains_key(&key)) {
            *self.calls.entry(key).or_default() += 1;
        }
    }

    /// The most frequent first.
    fn sorted(&self) -> Vec<(&(SyscallId, u16), &u64)> {
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        calls
    }

    /// As denials, to say what usual filters do with them; nothing if they are more than a few.
    pub(super) fn few(&self) -> Vec<Denial> {
        const FEW: usize = 5;
        if self.calls.len() > FEW {
            return Vec::new();
        }
        let calls = self.sorted().into_iter();
        calls.map(|((syscall, _), count)| denial_of(*syscall, *count)).collect()
    }

    /// The most frequent ones.
    fn list(&self, text: &mut String, usual: &[Usual]) {
        const MOST: usize = 20;
        if self.calls.is_empty() {
            return;
        }
        text.push_str("\nperhaps denied by a filter:\n");
        let calls = self.sorted();
        for (index, ((id, errno), count)) in calls.iter().take(MOST).enumerate() {
            let name = syscall::name(Some(id.arch), id.nr);
            let purpose = id.name().and_then(Purpose::of);
            let purpose =
                purpose.map_or(String::new(), |of| format!(", for {}", of.title().to_lowercase()));
            let verdict = Verdict::errno(*errno);
            text.push_str("  ");
            let times = crate::text::times(**count);
            wrap(text, &format!("{times}: {} {name}: {verdict}{purpose}", id.arch), 2, 4);
            let Some(usual) = usual.get(index) else { continue };
            let mut say = |line: &str| {
                text.push_str("    ");
                wrap(text, line, 4, 6);
            };
            usual.sentences(Some(verdict)).iter().for_each(|line| say(line));
            match usual.container {
                InContainer::Denies(_, other) if other != verdict => {
                    say(&format!(
                        "docker-default returns {other} instead; an older version, or an older libseccomp, may return {verdict}"
                    ));
                }
                // What all engines have always allowed, no old version denies.
                InContainer::Allows if usual.may_be_denied_by_older => {
                    say("an older version of a profile, or an older libseccomp, may deny it");
                }
                _ => {}
            }
            if let Some(why) = elsewhere(&name, *errno, id.arch.enosys()) {
                say(&format!("the error may also come from {why}"));
            }
        }
        if let Some(more) = calls.len().checked_sub(MOST).filter(|more| *more > 0) {
            text.push_str(&format!("  … and {more} more\n"));
        }
    }
}

/// What to say about a number that no known syscall has. Where its architecture is assumed, another one may have it.
fn unknown(id: SyscallId, is_assumed: bool) -> String {
    let abis = callgate_formats::abis(id.arch);
    let candidates: &[Arch] = if is_assumed { Arch::ALL } else { &abis };
    let others = candidates.iter().filter(|other| **other != id.arch);
    let mut names: Vec<(&str, Vec<Arch>)> = Vec::new();
    for (other, name) in others.filter_map(|other| Some((other, other.syscall_name(id.nr)?))) {
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, arches)) => arches.push(*other),
            None => names.push((name, vec![*other])),
        }
    }
    let of = |(name, arches): &(&str, Vec<Arch>)| {
        let arches: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        format!("; on {}, it is {name}", arches.join(", "))
    };
    let give = if is_assumed && !names.is_empty() { " (give --arch)" } else { "" };
    format!(
        "no syscall of {} with this number is known: a newer kernel may have one, or the line is about another architecture{give}{}",
        id.arch,
        names.iter().map(of).collect::<String>()
    )
}

fn denial(
    text: &mut String,
    denial: &Denial,
    usual: Option<&Usual>,
    is_of_android: bool,
    is_assumed: bool,
) {
    let id = denial.call.syscall;
    let call = syscall::show(Some(id.arch), &data(&denial.call));
    let returned: Vec<&str> = denial.verdicts.iter().map(|(verdict, _)| action(*verdict)).collect();
    let returned = match returned.as_slice() {
        [] => "denied".to_owned(),
        actions => actions.join(" or "),
    };
    wrap(text, &format!("{} {call} (number {}): {returned}", id.arch, id.nr), 0, 2);
    let mut say = |line: &str| {
        text.push_str("  ");
        wrap(text, line, 2, 4);
    };
    if id.name().is_none() {
        say(&unknown(id, is_assumed));
    }
    let usual = usual.filter(|_| id.name().is_some());
    if let Some(purpose) = id.name().and_then(Purpose::of) {
        let title = purpose.title().to_lowercase();
        say(&format!("for {title}: syscalls with which a process can {}", purpose.description()));
    }
    let danger = id.name().and_then(|name| danger_in_words(name, &denial.call.args, id.arch));
    danger.iter().for_each(|danger| say(danger));
    let who = match denial.programs.as_slice() {
        [(program, _)] if denial.others == 0 => printable(program).to_string(),
        [] => "the program".to_owned(),
        _ => "these programs".to_owned(),
    };
    let end = if usual.is_some() { ":" } else { "" };
    if !is_of_android {
        say(&format!(
            "denied by a seccomp filter of {who}, or of the service manager or container runtime that started it{end}"
        ));
    }
    for sentence in usual.map(|usual| usual.sentences(None)).iter().flatten() {
        text.push_str("    ");
        wrap(text, sentence, 4, 6);
    }
}
