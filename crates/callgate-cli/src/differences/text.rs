//! Differences in the style of diff(1).

use std::fmt::Write;

use callgate::Arch;
use callgate::codegen::query::Difference;
use callgate::syscalls::list_syscalls;

use super::shared::{by_abi, conditions};
use crate::outcome::{self, argument_names};
use crate::output::wrap;
use crate::text::printable;
use callgate_requests::differences::{Compared, Differences, Side};
use callgate_requests::syscall;

/// Lines like those of diff(1), with this many syscalls before and after each difference for which the filters do
/// not differ.
pub(crate) fn text(
    differences: &Differences,
    names: &[String; 2],
    compared: &Compared<'_>,
    context: u32,
) -> String {
    let [a, b] = names.each_ref().map(|name| printable(name));
    let mut text = format!("--- {a}\n+++ {b}\n");
    for difference in differences.list() {
        group(&mut text, difference, compared, context);
    }
    if differences.has_more() {
        text.push_str("… and more; omit --max to print all\n");
    }
    text
}

fn group(text: &mut String, difference: &Difference, compared: &Compared<'_>, context: u32) {
    let data = &difference.data;
    let arch = syscall::arch_of(data);
    let arch_name = syscall::arch_name(arch, data.arch);
    let _ = writeln!(text, "{arch_name} {}", syscall::show(arch, data));
    for (title, syscalls) in by_abi(arch, difference) {
        let others = list_syscalls(data.arch, &syscalls, Some(data.nr), usize::MAX);
        if !others.is_empty() {
            let _ = write!(text, "    {title}:");
            wrap(text, &format!(" {others}"), title.len() + 5, 6);
        }
    }
    let [before, after] = arch.map_or_else(Default::default, |arch| {
        neighbours(compared, arch, data.nr, context as usize)
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
    for (side, sign, verdict) in [(Side::A, '-', difference.left), (Side::B, '+', difference.right)]
    {
        let conditions = arch.and_then(|arch| conditions(compared, side, arch, difference));
        let line = match conditions {
            Some(conditions) => format!("{sign} {verdict} ({conditions})"),
            None => format!("{sign} {verdict}"),
        };
        text.push_str("  ");
        wrap(text, &line, 2, 6);
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
