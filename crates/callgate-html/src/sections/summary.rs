//! The summary in words: the default, what a process can do, dangerous syscalls, and the groups.

use callgate::Arch;
use callgate::explain::{ArchExplanation, Outcome, Permission};
use callgate::purposes::{Purpose, Severity, allowed_dangers};

use crate::describe::{Entry, Subject, by_purpose, counted, effect, entries, grouped, names};
use crate::markup::Markup;
use crate::page::Section;

/// The summary of a filter.
pub fn summary(subject: &Subject<'_>) -> Section {
    Section::new("summary", "Summary", |body| {
        let Some(first) = subject.explanation.arches.first() else {
            body.paragraph("The filter is for none of the architectures that Callgate knows.");
            return;
        };
        headline(body, subject, first);
        dangerous(body, subject);
        can(body, subject);
        groups(body, first);
    })
}

/// How many syscalls are permitted, and what happens to the others.
fn headline(body: &mut Markup, subject: &Subject<'_>, first: &ArchExplanation) {
    let entries = entries(first);
    let mut text = format!(
        "On {}, the filter always allows {} of {}.",
        first.arch,
        grouped(first.count(Permission::Always)),
        counted(entries.len(), "syscall")
    );
    let some = first.count(Permission::Sometimes);
    if some > 0 {
        text += &format!(" It allows {some} for some arguments only.");
    }
    text += &denials(&entries);
    text += &default(first);
    body.headline(&text);
    let mut others: Vec<String> = subject.explanation.arches.iter().skip(1).map(short).collect();
    others.push(match (subject.explanation.other_arches, subject.checks_arch) {
        (Some(verdict), _) => format!("on any other architecture, every syscall {}", effect(verdict)),
        (None, true) => "on other architectures, it depends on the syscall".to_owned(),
        (None, false) => {
            "the filter does not check the architecture, so numbers of other ABIs mean other syscalls".to_owned()
        }
    });
    body.element("ul", &[], |list| {
        others.iter().for_each(|other| list.leaf("li", &[], &format!("{}.", capitalized(other))));
    });
    body.quiet(
        "A filter only decides whether a syscall runs. A syscall that it allows can still fail, because the process \
         lacks a capability or permission.",
    );
}

/// What happens to the syscalls that are not allowed, as sentences.
fn denials(entries: &[Entry<'_>]) -> String {
    let mut effects: Vec<(String, usize)> = Vec::new();
    for (.., outcome) in entries {
        if Permission::of(outcome) >= Permission::Sometimes {
            continue;
        }
        let text = match outcome {
            Outcome::Always(verdict) => effect(*verdict),
            _ => "is denied depending on its arguments".to_owned(),
        };
        match effects.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => effects.push((text, 1)),
        }
    }
    effects.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match effects.as_slice() {
        [] => String::new(),
        [(effect, _)] => format!(" Every other syscall {effect}."),
        effects => {
            let parts: Vec<String> =
                effects.iter().map(|(effect, count)| format!("{effect} ({count})")).collect();
            format!(" Every other syscall either {}.", parts.join(" or "))
        }
    }
}

/// What happens to the syscalls of later kernels.
fn default(arch: &ArchExplanation) -> String {
    let numbers = || arch.groups.iter().flat_map(|group| group.syscalls.iter().map(|(nr, _)| *nr));
    // Without the private ones of Arm.
    let block = numbers().min().map(|first| first >> 16);
    let ordinary = numbers().filter(|nr| Some(nr >> 16) == block);
    let Some(next) = ordinary.max().and_then(|last| last.checked_add(1)) else {
        return String::new();
    };
    let later = arch.unnamed.iter().find(|(_, numbers)| numbers.contains(next));
    match later {
        Some((Outcome::Always(verdict), _)) => {
            format!(" A syscall of a later kernel (number {next}) {}.", effect(*verdict))
        }
        _ => String::new(),
    }
}

/// An architecture in a line.
fn short(arch: &ArchExplanation) -> String {
    let mut outcomes = arch.groups.iter().map(|group| &group.outcome);
    if let Some(Outcome::Always(verdict)) = outcomes.next()
        && outcomes.all(|own| *own == Outcome::Always(*verdict))
    {
        return format!("on {}, every syscall {}", arch.arch, effect(*verdict));
    }
    let all: usize = arch.groups.iter().map(|group| group.syscalls.len()).sum();
    let (always, some) = (arch.count(Permission::Always), arch.count(Permission::Sometimes));
    let permitted = grouped(always + some);
    let mut text =
        format!("on {}, it allows {permitted} of {}", arch.arch, counted(all, "syscall"));
    if some > 0 {
        text += &format!(", {} of them for some arguments only", grouped(some));
    }
    text
}

/// What a process can do.
fn can(body: &mut Markup, subject: &Subject<'_>) {
    let arches = subject.explanation.arches.iter();
    let arches: Vec<Entries<'_>> =
        arches.map(|arch| (arch.arch, entries(arch), arch.dangers.as_slice())).collect();
    body.leaf("h3", &[], "What a process can do");
    body.table("words", &["It can …", "Answer", "because of"], |table| {
        ABILITIES.iter().for_each(|ability| row(table, &arches, ability));
    });
}

/// The syscalls of an architecture, and those that are allowed with dangerous arguments.
type Entries<'e> = (Arch, Vec<Entry<'e>>, &'e [&'static str]);

fn row(table: &mut Markup, arches: &[Entries<'_>], ability: &Ability) {
    let mut answers = arches.iter().filter_map(|(arch, entries, dangers)| {
        let answer = ability.answer(entries, dangers)?;
        Some((*arch, answer))
    });
    let Some((_, first)) = answers.next() else { return };
    // A process can also use the ABIs of the filter's other architectures.
    let more: Vec<String> = answers
        .filter(|(_, other)| other.permission > first.permission)
        .map(|(arch, other)| format!("{arch}: {}", word(other.permission, ability.is_dangerous).1))
        .collect();
    table.element("tr", &[], |tr| {
        tr.leaf("td", &[], ability.what);
        tr.element("td", &[], |td| {
            let (style, text) = word(first.permission, ability.is_dangerous);
            td.span(&format!("chip {style}"), text);
            more.iter().for_each(|more| {
                td.text(" ");
                td.span(
                    if ability.is_dangerous { "chip killed" } else { "chip conditional" },
                    more,
                );
            });
        });
        tr.leaf("td", &[("class", "names")], &first.because.join(", "));
    });
}

/// The style and text of an answer. What is dangerous is in the colour of danger if it is possible; what is not possible is calm.
fn word(permission: Permission, is_dangerous: bool) -> (&'static str, &'static str) {
    match (permission, is_dangerous) {
        (Permission::Never, _) => ("neutral", "no"),
        (Permission::Delegated, _) => ("notified", "another process decides"),
        (Permission::Sometimes, false) => ("conditional", "for some arguments"),
        (Permission::Sometimes, true) => ("denied", "dangerous: for some arguments"),
        (Permission::Always, false) => ("allowed", "yes"),
        (Permission::Always, true) => ("killed", "dangerous: yes"),
    }
}

/// Dangerous syscalls that are allowed, with reasons.
fn dangerous(body: &mut Markup, subject: &Subject<'_>) {
    body.leaf("h3", &[], "Dangerous syscalls that are allowed");
    let found = allowed_dangers(subject.explanation);
    if found.is_empty() {
        body.paragraph("None of the syscalls that Callgate knows to be dangerous is allowed.");
        return;
    }
    let of_all = subject.explanation.arches.len();
    body.element("ul", &[("class", "dangers")], |list| {
        for danger in &found {
            list.element("li", &[], |item| {
                let (style, severity) = match danger.severity {
                    Severity::Critical => ("killed", "critical"),
                    Severity::High => ("denied", "high"),
                    Severity::Moderate => ("conditional", "moderate"),
                };
                item.span(&format!("chip {style}"), severity);
                item.text(" ");
                item.leaf("code", &[], &danger.syscalls.join(", "));
                let mut notes = Vec::new();
                if danger.is_partial {
                    notes.push("for some arguments".to_owned());
                }
                if danger.arches.len() < of_all {
                    let arches: Vec<&str> = danger.arches.iter().map(|arch| arch.name()).collect();
                    notes.push(format!("on {}", arches.join(", ")));
                }
                if !notes.is_empty() {
                    item.text(&format!(" ({})", notes.join(", ")));
                }
                item.text(&format!(": {}", danger.reason));
            });
        }
    });
}

/// The groups of the first architecture, with what each allows.
fn groups(body: &mut Markup, arch: &ArchExplanation) {
    let entries = entries(arch);
    body.leaf("h3", &[], &format!("Groups of syscalls on {}", arch.arch));
    body.table(
        "words",
        &["Group", "Allowed", "What it is for, and what is not allowed"],
        |table| {
            for (purpose, members) in by_purpose(&entries) {
                group(table, purpose, &members);
            }
        },
    );
}

fn group(table: &mut Markup, purpose: Purpose, members: &[&Entry<'_>]) {
    let with = |wanted: Permission| -> Vec<&str> {
        let own = members.iter().filter(|(.., outcome)| Permission::of(outcome) == wanted);
        own.map(|(_, name, _)| *name).collect()
    };
    let (always, sometimes) = (with(Permission::Always), with(Permission::Sometimes));
    let not: Vec<&str> = [with(Permission::Never), with(Permission::Delegated)].concat();
    table.element("tr", &[], |tr| {
        tr.leaf("th", &[("scope", "row")], purpose.title());
        tr.element("td", &[], |td| {
            let style = match (always.len(), sometimes.len(), not.len()) {
                (_, 0, 0) => "allowed",
                (0, 0, _) => "denied",
                _ => "conditional",
            };
            let text = match style {
                "allowed" => format!("all {}", members.len()),
                "denied" => format!("none of {}", members.len()),
                _ => format!("{} of {}", always.len() + sometimes.len(), members.len()),
            };
            td.span(&format!("chip {style}"), &text);
        });
        tr.element("td", &[], |td| {
            td.text(&format!("{}.", capitalized(purpose.description())));
            let mut also = |what: &str, names: &[&str]| {
                if !names.is_empty() {
                    td.element("div", &[], |line| {
                        line.leaf("b", &[("class", "names")], what);
                        line.text(" ");
                        self::names(line, names, MAX_NAMES);
                    });
                }
            };
            also("Depends on arguments:", &sometimes);
            match (always.len() + sometimes.len(), not.len()) {
                // The opposite is shorter.
                (allowed, denied) if allowed > 0 && denied > 2 * allowed => {
                    also("Only:", &always);
                }
                (0, _) => {}
                _ => also("Not:", &not),
            }
        });
    });
}

/// How many names of a group are shown at once.
const MAX_NAMES: usize = 40;

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A question, as the end of "It can …", and the syscalls of which one is enough.
struct Ability {
    pub(super) what: &'static str,
    syscalls: &'static [&'static str],
    /// Whether it is what makes these syscalls dangerous: then only those count that are allowed with dangerous arguments.
    is_dangerous: bool,
}

/// An answer and the syscalls that are its reason.
pub(super) struct Answer {
    pub(super) permission: Permission,
    pub(super) because: Vec<&'static str>,
}

const fn ability(what: &'static str, syscalls: &'static [&'static str]) -> Ability {
    Ability { what, syscalls, is_dangerous: false }
}

const fn danger(what: &'static str, syscalls: &'static [&'static str]) -> Ability {
    Ability { what, syscalls, is_dangerous: true }
}

/// In the order of the purposes.
const ABILITIES: &[Ability] = &[
    ability("open files", &["open", "openat", "openat2", "open_by_handle_at"]),
    ability(
        "create, rename and delete files",
        &[
            "creat",
            "mkdir",
            "mkdirat",
            "rename",
            "renameat",
            "renameat2",
            "unlink",
            "unlinkat",
            "rmdir",
        ],
    ),
    ability("change permissions of files", &["chmod", "fchmod", "fchmodat", "fchmodat2"]),
    ability("create sockets", &["socket", "socketcall"]),
    ability("accept connections", &["accept", "accept4", "socketcall"]),
    ability("execute programs", &["execve", "execveat"]),
    ability("start processes or threads", &["fork", "vfork", "clone", "clone3"]),
    ability(
        "send signals to other processes",
        &["kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo"],
    ),
    ability(
        "change its user or groups",
        &[
            "setuid",
            "setuid32",
            "setresuid",
            "setresuid32",
            "setreuid",
            "setreuid32",
            "setgid",
            "setgid32",
            "setgroups",
        ],
    ),
    danger("use io_uring, whose operations no filter sees", &["io_uring_setup", "io_uring_enter"]),
    danger("create or enter namespaces", &["unshare", "setns", "clone", "clone3"]),
    danger("mount file systems", &["mount", "move_mount", "fsmount"]),
    danger("change the root directory", &["chroot", "pivot_root"]),
    danger(
        "trace other processes or access their memory",
        &["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"],
    ),
    danger("use the kernel's keyrings", &["add_key", "request_key", "keyctl"]),
    danger("profile with performance counters", &["perf_event_open"]),
    danger("load BPF programs into the kernel", &["bpf"]),
    danger(
        "load kernel modules or another kernel",
        &["init_module", "finit_module", "kexec_load", "kexec_file_load"],
    ),
    danger("set the clock", &["settimeofday", "clock_settime", "clock_settime64", "stime"]),
    danger("restart or stop the machine", &["reboot"]),
];

impl Ability {
    /// The answer for the syscalls of an architecture; `None` if it has none of this ability.
    pub(super) fn answer(&self, entries: &[Entry<'_>], dangers: &[&str]) -> Option<Answer> {
        let known = entries.iter().filter(|(_, name, _)| self.syscalls.contains(name));
        let counts = |permission, name: &str| match permission {
            Permission::Always | Permission::Sometimes if self.is_dangerous => {
                dangers.contains(&name)
            }
            _ => true,
        };
        let known: Vec<(Permission, &'static str)> = known
            .map(|(_, name, outcome)| match Permission::of(outcome) {
                permission if counts(permission, name) => (permission, *name),
                _ => (Permission::Never, *name),
            })
            .collect();
        let permission = known.iter().map(|(permission, _)| *permission).max()?;
        let reasons = known.iter().filter(|(own, _)| *own == permission);
        Some(Answer { permission, because: reasons.map(|(_, name)| *name).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate::Verdict;

    /// `clone` without flags of namespaces starts threads, and enters none.
    #[test]
    fn what_is_dangerous_with_some_arguments_counts_with_these_only() {
        let depends = Outcome::Complex { verdicts: vec![Verdict::errno(1), Verdict::ALLOW] };
        let denied = Outcome::Always(Verdict::errno(1));
        let entries = [(56, "clone", &depends), (272, "unshare", &denied)];
        let namespaces = ABILITIES.iter().find(|one| one.what.contains("namespaces")).unwrap();
        let answer = |dangers: &[&str]| {
            let answer = namespaces.answer(&entries, dangers).unwrap();
            (answer.permission, answer.because)
        };
        assert_eq!(answer(&["clone"]), (Permission::Sometimes, vec!["clone"]));
        assert_eq!(answer(&[]), (Permission::Never, vec!["clone", "unshare"]));
        let threads = ABILITIES.iter().find(|one| one.what.contains("threads")).unwrap();
        assert_eq!(threads.answer(&entries, &[]).unwrap().permission, Permission::Sometimes);
    }

    #[test]
    fn abilities_are_about_syscalls_of_the_tables() {
        for ability in ABILITIES {
            for name in ability.syscalls {
                assert!(callgate_bpf::syscalls::known_name(name).is_some(), "{name}");
                let is_listed = callgate::purposes::danger(name).is_some();
                assert!(is_listed || !ability.is_dangerous, "{name}");
            }
        }
    }
}
