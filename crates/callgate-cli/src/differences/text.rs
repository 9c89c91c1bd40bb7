//! Differences in the style of diff(1).

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use callgate::Arch;
use callgate::explain::Mark;
use callgate_bpf::syscalls::list_syscalls;
use callgate_codegen::query::Difference;

use super::shared::{Change, Sides, Titles, by_abi, by_change, dangers, summary};
use crate::outcome::{self, argument_names};
use crate::output::wrap;
use crate::text::{counted, printable};
use callgate_requests::differences::{Compared, Differences, Side};
use callgate_requests::syscall;

/// The most names in a line, unless all are wanted.
const MAX_NAMES: usize = 24;

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The number of syscalls before and after each difference for which the filters do not differ.
    pub(crate) context: u32,
    /// What the differences are.
    pub(crate) titles: Titles,
    /// Whether lists of names are complete.
    pub(crate) all: bool,
}

/// Lines like those of diff(1), after these remarks.
pub(crate) fn text(
    differences: &Differences,
    names: &[String; 2],
    compared: &Compared<'_>,
    shown: Shown,
    remarks: &[String],
) -> String {
    let [a, b] = names.each_ref().map(|name| printable(name));
    let mut text = format!("--- {a}\n+++ {b}\n");
    for remark in remarks {
        wrap(&mut text, remark, 0, 2);
    }
    if !differences.list().is_empty() {
        let names = [&*a.to_string(), &b.to_string()];
        wrap(&mut text, &summary(differences, compared, names, shown.titles), 0, 2);
        let changes = by_change(differences.list(), compared, shown.titles);
        changes.iter().for_each(|(change, one)| group(&mut text, one, *change, compared, shown));
    }
    match differences.more() {
        0 => {}
        more => {
            let more = counted(more as u64, "more group");
            let _ = writeln!(text, "… and {more}; --all lists them");
        }
    }
    text
}

fn group(
    text: &mut String,
    difference: &Difference,
    change: Change,
    compared: &Compared<'_>,
    shown: Shown,
) {
    let data = &difference.data;
    let arch = syscall::arch_of(data);
    let arch_name = syscall::arch_name(arch, data.arch);
    let Sides { all, example } = Sides::of(compared, arch, difference);
    let call = syscall::show(arch, data);
    let name = example.map(|_| syscall::name(arch, data.nr));
    let _ = writeln!(text, "{arch_name} {}", name.as_deref().unwrap_or(&call));
    for (title, syscalls) in by_abi(arch, difference) {
        let most = if shown.all { usize::MAX } else { MAX_NAMES };
        let mut others = list_syscalls(data.arch, &syscalls, Some(data.nr), most);
        if others.ends_with(" more") {
            others.push_str("; --all lists them");
        }
        if !others.is_empty() {
            let _ = write!(text, "    {title}:");
            wrap(text, &format!(" {others}"), title.len() + 5, 6);
        }
    }
    for (reason, names) in dangers(difference, shown.titles, change, compared) {
        let mark = outcome::paint(Mark::Denied, "DANGER");
        wrap(text, &format!("    {mark}: {}: {reason}", names.join(", ")), 0, 6);
    }
    let [before, after] = arch.map_or_else(Default::default, |arch| {
        neighbours(compared, arch, data.nr, shown.context as usize)
    });
    let same = |text: &mut String, syscalls: &[(u32, &str)]| {
        for (nr, name) in syscalls {
            let outcome = arch.and_then(|arch| Some((arch, compared.outcome(Side::A, arch, *nr)?)));
            if let Some((arch, outcome)) = outcome {
                let lines = outcome::lines(outcome, arch, argument_names(&[(*nr, name)], arch));
                text.push_str("    ");
                wrap(text, &format!("{name}: {}", lines.join("; ")), 4, 6);
            }
        }
    };
    same(text, &before);
    for (sign, line) in ['-', '+'].into_iter().zip(all) {
        text.push_str("  ");
        wrap(text, &format!("{sign} {line}"), 2, 6);
    }
    if let Some([a, b]) = example {
        text.push_str("    ");
        wrap(text, &format!("for example {call}: {a} -> {b}"), 4, 6);
    }
    same(text, &after);
}

/// The syscalls with the nearest smaller and the nearest larger numbers for which the filters do not differ.
fn neighbours(
    compared: &Compared<'_>,
    arch: Arch,
    nr: u32,
    count: usize,
) -> [Vec<(u32, &'static str)>; 2] {
    let mut syscalls: Vec<(u32, &str)> = arch.syscalls().collect();
    syscalls.sort_unstable();
    let (before, after): (Vec<_>, Vec<_>) =
        syscalls.into_iter().filter(|(one, _)| *one != nr).partition(|(one, _)| *one < nr);
    let is_same = |(nr, _): &(u32, &str)| compared.is_same(arch, *nr);
    let mut before: Vec<_> = before.into_iter().rev().filter(is_same).take(count).collect();
    before.reverse();
    [before, after.into_iter().filter(is_same).take(count).collect()]
}
