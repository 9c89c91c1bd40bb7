//! The command line of a program with tasks.

use std::process::ExitCode;

use crate::task::Task;

/// Tasks that another program has.
pub struct Elsewhere {
    /// Their names and summaries.
    pub tasks: &'static [(&'static str, &'static str)],
    /// Runs one of them: the words of the command line, of which the first is its name.
    pub run: fn(&[String]) -> ExitCode,
}

/// Runs the task that the command line of this process names; `program` is what the user types after `cargo`.
pub fn run(program: &str, tasks: &[Task]) -> ExitCode {
    run_with(program, tasks, &Elsewhere { tasks: &[], run: |_| ExitCode::FAILURE })
}

/// The same with tasks of another program.
pub fn run_with(program: &str, tasks: &[Task], elsewhere: &Elsewhere) -> ExitCode {
    let mut sorted: Vec<(&str, &str)> =
        tasks.iter().map(|task| (task.name, task.summary)).collect();
    sorted.extend(elsewhere.tasks);
    sorted.sort_unstable();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", usage(program, &sorted));
        return ExitCode::from(2);
    };
    let asks_help = |word: &String| matches!(word.as_str(), "help" | "--help" | "-h");
    if asks_help(name) {
        print!("{}", usage(program, &sorted));
        return ExitCode::SUCCESS;
    }
    if elsewhere.tasks.iter().any(|(known, _)| known == name) {
        return (elsewhere.run)(&arguments);
    }
    let Some(task) = tasks.iter().find(|task| task.name == name) else {
        eprint!("{program}: unknown task {name:?}\n\n{}", usage(program, &sorted));
        return ExitCode::from(2);
    };
    if rest.iter().any(asks_help) {
        print!("{}", task.help);
        return ExitCode::SUCCESS;
    }
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{program} {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage(program: &str, tasks: &[(&str, &str)]) -> String {
    let mut text = format!("usage: cargo {program} TASK [OPTION]...\n\ntasks:\n");
    let width = tasks.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, summary) in tasks {
        text += &format!("  {name:<width$}  {summary}\n");
    }
    text + &format!("\n`cargo {program} TASK --help` describes a task.\n")
}
