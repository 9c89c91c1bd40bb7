//! The examples of pages in `docs/`: all fenced blocks of a page are one session, in one directory, from top to bottom.
//!
//! A block with the info string `console` has commands, each after `$ `, and what they print, standard output and standard
//! error together. `# exit status N` below the output is the exit status, unless it is 0. A block with a file name after the
//! language, such as `json profile.json`, is a file. Other blocks are not used. `BLESS=1` writes the output into the page.
//!
//! A comment `<!-- example: numbers -->` directly above a block of commands relaxes the comparison: numbers and the space
//! around them vary, and a line `…` stands for at least one line that is not shown. Such output is only written if it does
//! not match.

use std::path::{Path, PathBuf};

use callgate_testing::{Need, Skip, TestResult, Trial, needs_program, test};

use super::readme::{is_shown, without_numbers};
use super::{Directory, changes, needs};

/// The comment above a block of commands whose output has numbers that vary.
const NUMBERS: &str = "<!-- example: numbers -->";

/// A test per page with a block of commands.
pub(crate) fn tests() -> Vec<Trial> {
    let (mut pages, mut directories) = (Vec::new(), vec![docs()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                if text.contains("\n```console\n") {
                    let page = path.strip_prefix(docs()).unwrap().to_str().unwrap();
                    pages.push(page.to_owned());
                }
            }
        }
    }
    pages.sort();
    let tests = pages.into_iter();
    tests.map(|page| test(format!("docs: {page}"), move || matches_its_output(&page))).collect()
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn matches_its_output(page: &str) -> TestResult {
    if !cfg!(target_arch = "x86_64") {
        return Err(Skip::new(Need::Kernel, "the examples are for x86-64"));
    }
    let path = docs().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    for (subcommand, what) in [("run", "seccomp"), ("record", "ptrace"), ("test", "ptrace")] {
        let words = format!("callgate {subcommand} ");
        if text.lines().any(|line| line.starts_with("$ ") && line.contains(&words)) {
            needs(what)?;
        }
    }
    for tool in ["curl", "/usr/bin/python3"] {
        if text.contains(&format!("{tool} -")) {
            needs_program(Need::Tool, tool)?;
        }
    }
    let played = play(&text, page);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &played).unwrap();
    } else {
        assert!(
            played == text,
            "docs/{page} differs (BLESS=1 accepts):\n{}",
            changes(&text, &played)
        );
    }
    Ok(())
}

/// The page with the output of its commands.
fn play(text: &str, page: &str) -> String {
    let directory = Directory::new(&format!("docs-{}", page.replace('/', "-")));
    let mut played = String::new();
    let mut add = |line: &str| {
        played.push_str(line);
        played.push('\n');
    };
    let mut lines = text.lines();
    let mut above = "";
    while let Some(line) = lines.next() {
        add(line);
        let varies = std::mem::replace(&mut above, line) == NUMBERS;
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            Some((_, file)) => {
                std::fs::write(directory.0.join(file), block.join("\n") + "\n").unwrap();
                block.iter().for_each(|line| add(line));
            }
            None if info == "console" => {
                let commands = block.iter().enumerate();
                for (at, command) in
                    commands.filter_map(|(at, line)| Some((at, line.strip_prefix("$ ")?)))
                {
                    add(&format!("$ {command}"));
                    let printed = run(&directory, command, page);
                    let shown = block[at + 1..].iter().take_while(|line| !line.starts_with("$ "));
                    let shown: Vec<String> = shown.map(|line| (*line).to_owned()).collect();
                    let matches = varies && is_shown(&numberless(&printed), &numberless(&shown));
                    (if matches { &shown } else { &printed }).iter().for_each(|line| add(line));
                }
            }
            None => block.iter().for_each(|line| add(line)),
        }
        add("```");
    }
    played
}

/// What a command prints, and its exit status unless that is 0.
fn run(directory: &Directory, command: &str, page: &str) -> Vec<String> {
    let output = directory.run(&format!("exec 2>&1\n{command}"));
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = printed.lines().map(|line| line.trim_end().to_owned()).collect();
    match output.status.code() {
        Some(0) => {}
        Some(status) => lines.push(format!("# exit status {status}")),
        None => panic!("{page}: {command}: {}", output.status),
    }
    lines
}

fn numberless(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| without_numbers(line)).collect()
}
