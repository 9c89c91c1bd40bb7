//! `callgate dump`: shows the filters of a running process, or those that a command installs.

mod caught;

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstyle::Style;
use callgate::compile::Options;
use callgate::{Action, Arch, Verdict};
use callgate_bpf::FilterFlags;
use callgate_bpf::disasm::Dialect;
use callgate_core::{Op, Program};
use callgate_linux::{Dump, InstalledFilter, MAX_INSNS_PER_THREAD, budget_used, kernel_insns};
use clap::{ValueEnum, ValueHint};

use crate::commands::disasm::DialectArg;
use crate::commands::record::parse_time;
use crate::emit::{self, Emit};
use crate::options::{Format, NATIVE_ENDIAN, PROMPT, SourceOptions, parse_u32};
use crate::output::{self, Directory};
use crate::report::{Failure, Result};
use crate::source;
use crate::text::{counted, printable};
use callgate_requests::json::Json;
use callgate_requests::source::arches_in;

const HEADING: Style = Style::new().bold();

/// Show the filters of a running process, or those that a command installs
#[derive(Debug, clap::Args)]
#[command(override_usage = "callgate dump [OPTIONS] PID\n       callgate dump [OPTIONS] -- CMD...")]
#[command(after_help = "\
With a command, callgate starts it and catches every filter that it or its
children install, without root, until they have ended or the time is over. So it
reads filters that a program makes with a library, such as libseccomp. The
report goes to standard error, because the command has the standard output.
Set-user-ID programs have no privileges then, unless callgate runs as root.

Of a running process, the kernel shows filters only to root (CAP_SYS_ADMIN), and
only to processes without a filter of their own. The thread is stopped for some
microseconds and then continues. A sleep keeps its time, even if a filter denies
restart_syscall (on x86-64); epoll_wait and the few others that signal(7) lists
fail with EINTR. Filters belong to threads: PID is the main thread of a process,
or any thread; pid:PID means the same.

budget: all filters of a thread together have at most 32,768 instructions,
counted as eBPF, plus 4 for each filter but the newest.
LOG is the only flag that the kernel shows. A filter that returns notifications
has, or had, a listener.

Every command that takes a SOURCE also accepts pid:PID, for all filters
together, and pid:PID/0, for a single one; 0 is the oldest.

Examples:
  callgate dump -o filters -- bwrap --ro-bind / / true
  callgate dump 1234
  callgate dump 1234 --dialect annotated
  callgate dump 1234 -o filters --merge
  callgate explain pid:1234
  callgate optimize pid:1234/0 -o better.bpf --stats

Exit status: 0 success, even without filters; 2 error; 127 if the command is not
found, 126 if it cannot be executed.")]
pub(crate) struct DumpArgs {
    /// The process or thread, by its number
    #[arg(
        value_name = "PID",
        value_parser = pid,
        allow_negative_numbers = true,
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    pid: Option<u32>,

    /// Also print the programs, in this notation
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<DialectArg>,

    /// Also merge the filters into one program and show it
    #[arg(long, conflicts_with = "command")]
    merge: bool,

    /// End the command after this time: 30s, 5m, 1h, 500ms [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time, conflicts_with = "pid")]
    time: Option<Duration>,

    /// Let the command run until it ends by itself
    #[arg(long = "continue", conflicts_with_all = ["pid", "time"])]
    to_the_end: bool,

    /// Write every program into this directory: 0.bpf for the oldest, and so on, and merged.bpf. The directory
    /// must not contain files of another dump
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// The format of these files [default: bpf]
    #[arg(long, value_name = "FORMAT", requires = "output")]
    emit: Option<Emit>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// A command and its arguments
    #[arg(value_name = "CMD", last = true)]
    command: Vec<OsString>,
}

/// Parses `N`, or `pid:N` as in sources.
fn pid(text: &str) -> std::result::Result<u32, String> {
    let number = text.strip_prefix("pid:").unwrap_or(text);
    if let Some((process, _)) = number.split_once('/').filter(|_| number.len() < text.len()) {
        return Err(format!("this command shows all filters: write pid:{process}"));
    }
    let pid = parse_u32(number).ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| "expected the number of a process or thread, such as 1234".to_owned())
}

/// How long a command runs if nothing else is asked for.
const USUAL_TIME: Duration = Duration::from_secs(10);

/// A program that is shown.
struct ShownProgram {
    /// The index of the filter, `None` for the merged program.
    index: Option<usize>,
    program: Program,
    arches: Vec<Arch>,
    flags: Option<FilterFlags>,
}

pub(crate) fn run(args: &DumpArgs) -> Result<u8> {
    let Some(pid) = args.pid else { return caught::run(args, &args.command) };
    let name = format!("pid:{pid}");
    let dump = source::dump(pid, &name)?;
    let mut shown: Vec<ShownProgram> =
        dump.filters.iter().enumerate().map(ShownProgram::of).collect();
    if args.merge && !shown.is_empty() {
        shown.push(merged(pid, &dump)?);
    }
    if let Some(directory) = &args.output {
        write_all(directory, args.emit.unwrap_or(Emit::Bpf), &shown)?;
    }
    output::print(&match args.format {
        Format::Json => json(&dump, pid, &shown),
        Format::Text => text(&dump, pid, args, &shown),
    })?;
    Ok(0)
}

impl ShownProgram {
    fn of((index, filter): (usize, &InstalledFilter)) -> ShownProgram {
        let arches = arches_in(&filter.program, NATIVE_ENDIAN);
        ShownProgram {
            index: Some(index),
            program: filter.program.clone(),
            arches,
            flags: filter.flags,
        }
    }

    /// Its name in tables, and the stem of its file.
    fn name(&self) -> String {
        self.index.map_or_else(|| "merged".to_owned(), |index| index.to_string())
    }

    /// Whether it returns USER_NOTIF.
    fn notifies(&self) -> bool {
        let mut returned = self.program.iter().filter(|insn| insn.op == Op::RetK);
        returned.any(|insn| matches!(Verdict(insn.k).action(), Action::UserNotif(_)))
    }

    fn text(&self, dialect: Dialect) -> String {
        emit::text(&self.program, dialect, NATIVE_ENDIAN, &self.arches)
    }

    fn remarks(&self) -> Vec<String> {
        let flags = self.flags.filter(|flags| !flags.is_empty()).map(|flags| flags.to_string());
        let listener = self.notifies().then(|| "notifications".to_owned());
        flags.into_iter().chain(listener).collect()
    }

    fn json(&self) -> Json {
        let flags = self.flags.map(|flags| Json::array(flags.each().map(|(_, name, _)| name)));
        let mut fields = vec![];
        fields.extend(self.index.map(|index| ("index", index.into())));
        fields.extend([
            ("insns", self.program.len().into()),
            ("kernel_insns", kernel_insns(&self.program).into()),
            ("flags", flags.into()),
            ("notifies", self.notifies().into()),
            ("arches", Json::array(self.arches.iter().map(|arch| arch.name()))),
            ("program", emit::rows(&self.program)),
        ]);
        Json::Object(fields)
    }
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

/// Writes every program into a directory, and creates that if necessary.
fn write_all(directory: &Path, emit: Emit, shown: &[ShownProgram]) -> Result<()> {
    let failed = |what: &str, error: &std::io::Error| {
        let why = callgate_linux::error_text(error);
        Failure::about(
            directory.display().to_string(),
            format!("the directory cannot be {what}: {why}"),
        )
        .help("name a directory that exists and is writable")
    };
    let opened = Directory::create_all(directory).map_err(|error| failed("created", &error))?;
    let names: Vec<String> =
        shown.iter().map(|shown| format!("{}.{}", shown.name(), emit.extension())).collect();
    let entries = opened.names().map_err(|error| failed("read", &error))?;
    let mut others: Vec<String> = entries
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .filter(|name| is_of_a_dump(name) && !names.contains(name))
        .collect();
    others.sort();
    if let Some(first) = others.first() {
        let more = match others.len() - 1 {
            0 => String::new(),
            more => format!(" and {}", counted(more as u64, "other file")),
        };
        let what = format!(
            "the directory contains {first}{more} of another dump, which would mix with the new ones"
        );
        return Err(Failure::about(directory.display().to_string(), what)
            .help("remove these files, or name another directory"));
    }
    for (shown, name) in shown.iter().zip(names) {
        let bytes = match emit.dialect() {
            Some(dialect) => shown.text(dialect).into_bytes(),
            None if emit == Emit::Json => format!("{}\n", shown.json()).into_bytes(),
            None if emit == Emit::Crun => emit::crun(&shown.program, NATIVE_ENDIAN).into_bytes(),
            None => shown.program.to_bytes(NATIVE_ENDIAN),
        };
        output::write_file_in(&opened, OsStr::new(&name), &directory.join(&name), &bytes)?;
    }
    Ok(())
}

/// Whether a file has a name that `write_all` gives.
fn is_of_a_dump(name: &str) -> bool {
    name.split_once('.').is_some_and(|(stem, extension)| {
        let is_number = !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_digit());
        let is_form = Emit::value_variants().iter().any(|form| form.extension() == extension);
        (is_number || stem == "merged") && is_form
    })
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

fn heading(shown: &ShownProgram) -> String {
    shown.index.map_or_else(|| "merged".to_owned(), |index| format!("filter {index}"))
}

fn number_of_filters(count: usize) -> String {
    if count == 0 { "no filter".to_owned() } else { counted(count as u64, "filter") }
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
