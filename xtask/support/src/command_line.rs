//! The command line of a program with tasks.

use std::process::ExitCode;

use crate::task::Task;

/// Runs the task that the command line of this process names; `program` is what the user types after `cargo`.
pub fn run(program: &str, tasks: &[Task]) -> ExitCode {
    let mut sorted: Vec<&Task> = tasks.iter().collect();
    sorted.sort_by_key(|task| task.name);
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
    let Some(task) = sorted.iter().find(|task| task.name == name) else {
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

fn usage(program: &str, tasks: &[&Task]) -> String {
    let mut text = format!("usage: cargo {program} TASK [OPTION]...\n\ntasks:\n");
    let width = tasks.iter().map(|task| task.name.len()).max().unwrap_or(0);
    for task in tasks {
        text += &format!("  {:<width$}  {}\n", task.name, task.summary);
    }
    text + &format!("\n`cargo {program} TASK --help` describes a task.\n")
}
