//! `callgate dump PID`: the filters of a running process, if one is given.

use std::fmt::Write;

use callgate::compile::Options;
use callgate_linux::{Dump, MAX_INSNS_PER_THREAD, budget_used, kernel_insns};

use super::args::DumpArgs;
use super::caught;
use super::shown::{HEADING, ShownProgram, heading, number_of_filters, write};
use crate::emit::Emit;
use crate::options::{Format, PROMPT, SourceOptions};
use crate::output::{self, text_of};
use crate::report::Result;
use crate::source;
use crate::text::printable;
use callgate_requests::json::Json;

pub(crate) fn run(args: &DumpArgs) -> Result<u8> {
    let Some(pid) = args.pid else { return caught::run(args, &args.command) };
    let name = format!("pid:{pid}");
    let dump = source::dump(pid, &name)?;
    let mut shown: Vec<ShownProgram> =
        dump.filters.iter().enumerate().map(ShownProgram::of).collect();
    if args.merge && !shown.is_empty() {
        shown.push(merged(pid, &dump)?);
    }
    if let Some(path) = &args.output {
        write(path, args.emit.unwrap_or(Emit::Bpf), &shown)?;
    }
    let text = match args.format {
        Format::Json => json(&dump, pid, &shown),
        Format::Text => text(&dump, pid, args, &shown),
    };
    match &args.report {
        Some(file) => output::write_file(file, text_of(&text).as_bytes())?,
        None => output::print(&text)?,
    }
    Ok(0)
}

/// One program that is equivalent to all filters together.
fn merged(pid: u32, dump: &Dump) -> Result<ShownProgram> {
    let stack = source::stack_of(pid, dump, &SourceOptions::default())?;
    let arches = stack.arches();
    let options = Options { budget: PROMPT, ..Options::default() };
    let merged = stack.merge(&options)?;
    let flags = stack.members().ok().map(|members| members.flags());
    Ok(ShownProgram { index: None, program: merged.compiled.program.into(), arches, flags })
}

fn text(dump: &Dump, pid: u32, args: &DumpArgs, shown: &[ShownProgram]) -> String {
    let installed: Vec<&ShownProgram> =
        shown.iter().filter(|shown| shown.index.is_some()).collect();
    let count = number_of_filters(installed.len());
    let mut text = format!("{HEADING}{pid} ({}){HEADING:#}: {count}\n", printable(&dump.name));
    if let Some(newest) = installed.len().checked_sub(1) {
        let _ =
            writeln!(text, "  {:<12}{:>12}{:>14}  remarks", "filter", "instructions", "as eBPF");
        for shown in shown.iter().rev() {
            let place = match shown.index {
                Some(0) => " (oldest)",
                Some(index) if index == newest => " (newest)",
                _ => "",
            };
            let (name, remarks) = (shown.name() + place, shown.remarks().join(", "));
            let (insns, kernel) = (shown.program.len(), kernel_insns(&shown.program));
            let line = format!("  {name:<12}{insns:>12}{kernel:>14}  {remarks}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let (insns, used) = totals(&installed);
        let _ = writeln!(
            text,
            "  {:<12}{insns:>12}{used:>14}  plus 4 for each but the newest",
            "total"
        );
        let share = used as f64 / MAX_INSNS_PER_THREAD as f64 * 100.0;
        let _ = writeln!(text, "budget: {used} of {MAX_INSNS_PER_THREAD} used ({share:.1} %)");
    }
    others(&mut text, dump);
    if let Some(dialect) = args.dialect {
        for shown in shown.iter().rev() {
            let _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", heading(shown));
            text.push_str(&shown.text(dialect.into()));
        }
    }
    text
}

/// The number of instructions of all filters, and how much of the budget they use.
fn totals(installed: &[&ShownProgram]) -> (usize, usize) {
    let insns = installed.iter().map(|shown| shown.program.len()).sum();
    (insns, budget_used(installed.iter().map(|shown| kernel_insns(&shown.program))))
}

/// The threads of the process with a different number of filters.
fn others(text: &mut String, dump: &Dump) {
    /// Limits the output: a process may have thousands of threads.
    const SHOWN: usize = 5;
    for (thread, filters) in dump.others.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "thread {thread} of the same process has {}",
            number_of_filters(*filters)
        );
    }
    if let Some(more @ 1..) = dump.others.len().checked_sub(SHOWN) {
        let _ = writeln!(text, "{more} more threads have a different number of filters");
    }
}

fn json(dump: &Dump, pid: u32, shown: &[ShownProgram]) -> String {
    let installed: Vec<&ShownProgram> =
        shown.iter().filter(|shown| shown.index.is_some()).collect();
    let merged = shown.iter().find(|shown| shown.index.is_none());
    let others = dump.others.iter().map(|(thread, filters)| {
        Json::Object(vec![("tid", (*thread).into()), ("filters", (*filters).into())])
    });
    let (insns, used) = totals(&installed);
    let value = Json::Object(vec![
        ("pid", pid.into()),
        ("name", dump.name.as_str().into()),
        ("filters", Json::array(installed.iter().rev().map(|shown| shown.json()))),
        ("insns", insns.into()),
        ("budget_used", used.into()),
        ("budget", MAX_INSNS_PER_THREAD.into()),
        ("merged", merged.map(ShownProgram::json).into()),
        ("other_threads", Json::array(others)),
    ]);
    format!("{value}\n")
}
