//! `cargo lab kernels costs`: what the instructions of a program cost in each kernel.
//!
//! The cost of a [form](super::forms) is the difference between two programs that contain it often and rarely, per
//! occurrence. The results are two tables: [`super::measured`] has all kernels, and `crates/callgate-codegen/src/measured.rs` those
//! for which the code generator makes programs.

use std::fmt::Write;
use std::path::PathBuf;

use callgate_codegen::native::{Constant, Kernel, Next};

use super::answers::Answers;
use super::boot::{LIMITS, boot};
use super::forms::{Form, Repeated, with_returns};
use super::guests::Guest;
use super::options::Options;
use super::plan::{Line, Plan};
use super::prepare::prepare;
use super::run::check;
use callgate_tasks::files::{make, read, write};
use callgate_tasks::{Result, workspace};

/// The tables, relative to the workspace: of all kernels, and of those that the code generator knows.
const ALL: &str = "lab/tasks/src/kernels/measured.rs";
const GENERATED_FOR: &str = "crates/callgate-codegen/src/measured.rs";

/// The number of filters on top of each other where an instruction cannot be repeated in one program.
const DEEP: usize = 32;

/// What happens with the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Print,
    Update,
    Check,
}

/// Runs the subcommand.
pub(super) fn run_task(arguments: &[String]) -> Result<()> {
    let (mode, arguments) = match arguments.split_first() {
        Some((word, rest)) if word == "--update" => (Mode::Update, rest),
        Some((word, rest)) if word == "--check" => (Mode::Check, rest),
        _ => (Mode::Print, arguments),
    };
    let options = Options::parse(arguments)?;
    if mode != Mode::Print && options.is_partial() {
        return Err("--update and --check need all guests".to_owned());
    }
    let progress = |text: &str| eprintln!("kernels: {text}");
    let directory = workspace().join("target/kernels");
    make(&directory)?;
    let mut tools = Vec::new();
    let (mut with_jit, mut interpreters) = (Vec::new(), Vec::new());
    for guest in options.guests() {
        let ready = prepare(guest, &directory, options.fetch, &mut tools, &progress)?;
        progress(&format!("{}: costs of instructions", guest.name()));
        let mut plan = Plan::new(guest.machine.arch.endian());
        let forms = Repeated::all(guest.machine.arch);
        let lines: Result<Vec<(bool, Lines)>> = guest
            .modes()
            .iter()
            .map(|&jit| {
                plan.jit(jit);
                Ok((jit, Lines::new(guest, &forms, &mut plan)?))
            })
            .collect();
        let initrd = directory.join(format!("initrd-costs-{}", guest.machine.name));
        write(&initrd, plan.initrd(&ready.program)?)?;
        let said = boot(guest.machine, &ready.kernel.path, &initrd, LIMITS, &progress)?;
        let answers = Answers::read(&said)?;
        check(&answers, guest)?;
        for (jit, lines) in lines? {
            let text = entry(guest, jit, &forms, &lines, &answers)?;
            if jit { with_jit.push((guest.machine.name, text)) } else { interpreters.push(text) }
        }
    }
    for (name, table) in tables(interpreters, &with_jit) {
        let path: PathBuf = workspace().join(name);
        match mode {
            Mode::Print => print!("{table}"),
            Mode::Update => write(&path, table)?,
            Mode::Check if read(&path)? == table.as_bytes() => {}
            Mode::Check => {
                return Err(format!("{name} differs from what the kernels execute:\n{table}"));
            }
        }
    }
    Ok(())
}

/// The lines of the plan for each form.
struct Lines {
    of_forms: Vec<[Line; 2]>,
    of_returns: Vec<Line>,
}

impl Lines {
    fn new(guest: &Guest, forms: &[Repeated], plan: &mut Plan) -> Result<Lines> {
        let mut of_forms = Vec::new();
        for form in forms {
            let [few, many] = form.programs()?;
            // Twice, because a single syscall is repeated more often.
            let calls = [form.call()?; 2];
            of_forms.push([plan.time(&calls, &[few]), plan.time(&calls, &[many])]);
        }
        let mut of_returns = Vec::new();
        for (call, program) in with_returns(guest.machine.arch)? {
            of_returns.push(plan.time(&[call; 2], &vec![program; DEEP]));
        }
        Ok(Lines { of_forms, of_returns })
    }
}

/// The entry of a kernel in the table.
fn entry(
    guest: &Guest,
    jit: bool,
    forms: &[Repeated],
    lines: &Lines,
    answers: &Answers,
) -> Result<String> {
    let name = guest.name_with(jit);
    let time = |line: Line| {
        let rows = [0, 1].map(|row| answers.time(line, row));
        let least = rows.into_iter().flatten().reduce(f64::min);
        least.ok_or_else(|| format!("{name}: a form was not measured"))
    };
    let mut costs = Vec::new();
    for (repeated, [few, many]) in forms.iter().zip(&lines.of_forms) {
        let difference = time(*many)? - time(*few)?;
        let cost = difference / repeated.difference();
        let form = repeated.form;
        costs.push((form, whole(cost).ok_or_else(|| format!("{name}: {form:?} costs {cost}"))?));
    }
    let cost = |wanted: Form| {
        let found = costs.iter().find(|(form, _)| *form == wanted);
        found.map(|(_, cost)| *cost).ok_or_else(|| format!("{name}: no cost of {wanted:?}"))
    };
    let short = Constant::Short;
    let jump = |op, constant, next, result| cost(Form::Jump { op, constant, next, result });
    let equal = Kernel::JUMPS[0];
    let near = jump(equal, short, Next::True, false)?;
    let far = cost(Form::FarJump)?;
    if near != far {
        return Err(format!(
            "{name}: a jump over 60 instructions costs {far}, over one {near}; the table does not \
             distinguish them"
        ));
    }
    let times: Result<Vec<f64>> =
        lines.of_returns.iter().map(|line| Ok(time(*line)? / DEEP as f64)).collect();
    let [only, first, between, last] = times?[..] else {
        return Err(format!("{name}: there are four programs with returns"));
    };
    let returns = [
        first - only - f64::from(jump(equal, short, Next::True, true)?),
        between - only - f64::from(jump(equal, short, Next::False, true)?),
        last - only - f64::from(near),
    ];
    let least = returns.iter().copied().fold(f64::INFINITY, f64::min);
    let returns: Option<Vec<u16>> = returns.iter().map(|cost| whole(cost - least)).collect();
    let returns =
        returns.ok_or_else(|| format!("{name}: returns do not cost whole instructions"))?;

    let mut text = String::new();
    let mut line = |depth: usize, line: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{line}", " ".repeat(4 * depth));
    };
    line(1, "Kernel {");
    line(2, &format!("name: {name:?},"));
    let loads: Result<Vec<u16>> = (0..4).map(|word| cost(Form::Load(word))).collect();
    line(2, &format!("loads: {:?},", loads?));
    let ands: Result<Vec<u16>> =
        [false, true].into_iter().map(|high| cost(Form::And { high })).collect();
    line(2, &format!("ands: {:?},", ands?));
    for (field, form) in [
        ("sub", Form::Sub),
        ("tax", Form::Tax),
        ("constant", Form::Constant),
        ("shift", Form::Shift),
        ("ja", Form::Ja),
    ] {
        line(2, &format!("{field}: {:?},", cost(form)?));
    }
    line(2, &format!("returns: {returns:?},"));
    line(2, "jumps: [");
    for ops in [&Kernel::JUMPS[..3], &Kernel::JUMPS[3..]] {
        line(3, "[");
        for constant in Constant::ALL {
            let mut cells = Vec::new();
            for next in Next::ALL {
                let mut costs = Vec::new();
                for op in ops {
                    let of_result = |result| jump(*op, constant, next, result);
                    costs.push([of_result(true)?, of_result(false)?]);
                }
                costs.dedup();
                let [cost] = costs[..] else {
                    return Err(format!(
                        "{name}: {ops:?} cost {costs:?} for {constant:?}, {next:?}; the table does \
                         not distinguish them"
                    ));
                };
                cells.push(cost);
            }
            line(4, &format!("{cells:?},"));
        }
        line(3, "],");
    }
    line(2, "],");
    line(1, "},");
    Ok(text)
}

/// Both tables: the entries of interpreters, and those of kernels with a JIT compiler, with the names of their machines.
fn tables(interpreters: Vec<String>, with_jit: &[(&str, String)]) -> [(&'static str, String); 2] {
    let is_newest = |at: usize| !with_jit[at + 1..].iter().any(|(name, _)| *name == with_jit[at].0);
    let newest = with_jit.iter().enumerate().filter(|(at, _)| is_newest(*at));
    let newest: Vec<String> = newest.map(|(_, (_, entry))| entry.clone()).collect();
    let with_jit = with_jit.iter().map(|(_, entry)| entry.clone());
    let all: Vec<String> = interpreters.into_iter().chain(with_jit).collect();
    let of_all = table(
        "//! The costs of instructions in Debian's kernels.",
        "callgate_codegen::native::Kernel",
        "Debian's kernels: those that interpret programs, then those that compile them to machine code.",
        "pub(super)",
        &all,
    );
    let of_newest = table(
        "//! The costs of instructions in the kernels that filters are generated for.",
        "crate::kernel::Kernel",
        "The newest kernel of each machine, with its JIT compiler.",
        "pub",
        &newest,
    );
    [(ALL, of_all), (GENERATED_FOR, of_newest)]
}

/// The file with these entries.
fn table(title: &str, kernel: &str, what: &str, visibility: &str, entries: &[String]) -> String {
    format!(
        "{title} Written by `cargo lab kernels costs --update`. Do not edit.\n\n\
         use {kernel};\n\n\
         /// {what}\n\
         #[rustfmt::skip]\n\
         {visibility} static KERNELS: [Kernel; {}] = [\n{}];\n",
        entries.len(),
        entries.concat()
    )
}

/// A number of instructions. It is a mean over many syscalls, some of which execute a few more, for example to mix random
/// numbers; `None` if it is not near a whole number.
fn whole(figure: f64) -> Option<u16> {
    let rounded = figure.round();
    let is_near = (figure - rounded).abs() < 0.25 && (0.0..=1000.0).contains(&rounded);
    is_near.then_some(rounded as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_an_entry_per_kernel_and_per_machine() {
        let entry = |text: &str| format!("    {text}\n");
        let with_jit = [("x", entry("b")), ("x", entry("c")), ("y", entry("d"))];
        let [(_, all), (_, newest)] = tables(vec![entry("a")], &with_jit);
        assert!(all.ends_with("[Kernel; 4] = [\n    a\n    b\n    c\n    d\n];\n"), "{all}");
        assert!(newest.ends_with("[Kernel; 2] = [\n    c\n    d\n];\n"), "{newest}");
    }

    #[test]
    fn costs_are_whole_numbers() {
        assert_eq!([1.99, -0.1, 13.0, 2.13].map(whole), [Some(2), Some(0), Some(13), Some(2)]);
        assert_eq!([1.5, -1.0, f64::NAN].map(whole), [None; 3]);
    }
}
