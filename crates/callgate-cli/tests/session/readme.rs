//! The examples of `README.md` as sessions, one test per indented block.
//!
//! A block with lines that begin with `$ ` is run: each such line is a command, followed by its output, standard output
//! and standard error together; its exit status must be 0. `cargo callgate ` is replaced by the command itself.
//! A block without such lines may only contain `cargo` commands that cannot run in a test, or commands of another block.
//! Fenced blocks are ignored. A first or last line `…` stands for output that is not shown.
//!
//! A comment above a block, `<!-- example: WORD... -->`, which readers do not see, relaxes the comparison:
//!
//! | word | meaning |
//! |---|---|
//! | `numbers` | numbers and the space around them vary |
//! | `noisy` | the exit status may be 3, standard error is not shown, and remarks about noise vary, because the machine may be busy |

use std::path::Path;

use callgate_testing::{Need, Skip, TestResult, Trial, test};

use super::{Directory, needs};

/// The alias of `.cargo/config.toml`.
const CARGO_RUN: &str = "cargo callgate ";

/// Commands that cannot run in a test: they would run the test itself, or install something.
const NOT_RUN: [&str; 2] = ["cargo test", "cargo install "];

/// An indented block.
#[derive(Debug)]
struct Block {
    /// The number of its first line.
    line: usize,
    words: Vec<String>,
    lines: Vec<String>,
}

/// A command and its output.
struct Example<'a> {
    command: &'a str,
    prints: Vec<&'a str>,
}

impl Block {
    fn is_session(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("$ "))
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    fn examples(&self) -> Vec<Example<'_>> {
        let mut examples: Vec<Example<'_>> = Vec::new();
        for line in &self.lines {
            match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => examples.push(Example { command, prints: Vec::new() }),
                (None, Some(example)) => example.prints.push(line),
                (None, None) => panic!("README.md:{}: output before a command", self.line),
            }
        }
        examples
    }
}

/// A test per example, and one that checks that there are no other commands.
pub(crate) fn tests() -> Vec<Trial> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (sessions, others): (Vec<Block>, Vec<Block>) =
        blocks(&text).into_iter().partition(Block::is_session);
    assert!(sessions.len() >= 4, "{} examples in {}", sessions.len(), path.display());
    let played: Vec<String> = sessions
        .iter()
        .flat_map(Block::examples)
        .map(|example| example.command.to_owned())
        .collect();
    let mut tests = vec![test("readme: all commands are run", move || {
        for (block, line) in
            others.iter().flat_map(|block| block.lines.iter().map(move |l| (block, l)))
        {
            let known = NOT_RUN.iter().any(|start| line.starts_with(start))
                || played.iter().any(|command| command == line);
            assert!(known, "README.md, block at line {}: begins without `$ `: {line}", block.line);
        }
        Ok(())
    })];
    tests.extend(
        sessions
            .into_iter()
            .map(|block| test(format!("readme: line {}", block.line), move || play(&block))),
    );
    tests
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut words, mut is_open, mut gap) = (Vec::new(), false, 0);
    let mut is_fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        is_fenced ^= line.starts_with("```");
        if is_fenced {
            continue;
        }
        if let Some(line) = line.strip_prefix("    ") {
            if !is_open {
                blocks.push(Block {
                    line: number,
                    words: std::mem::take(&mut words),
                    lines: Vec::new(),
                });
            }
            is_open = true;
            if let Some(block) = blocks.last_mut() {
                block.lines.extend(std::iter::repeat_n(String::new(), std::mem::take(&mut gap)));
                block.lines.push(line.to_owned());
            }
            continue;
        }
        if line.is_empty() && is_open {
            // It belongs to the block if the block continues.
            gap += 1;
            continue;
        }
        (is_open, gap) = (false, 0);
        let comment =
            line.strip_prefix("<!-- example: ").and_then(|rest| rest.strip_suffix(" -->"));
        if let Some(comment) = comment {
            words = comment.split_whitespace().map(str::to_owned).collect();
            let known = |word: &String| ["numbers", "noisy"].contains(&word.as_str());
            assert!(words.iter().all(known), "README.md:{number}: unknown word: {line}");
        } else if !line.is_empty() {
            assert!(words.is_empty(), "README.md:{number}: no example below the comment");
        }
    }
    blocks
}

fn play(block: &Block) -> TestResult {
    if !cfg!(target_arch = "x86_64") {
        return Err(Skip::new(Need::Kernel, "the examples are for x86-64"));
    }
    // The examples install a filter and trace a process.
    for (subcommand, what) in [("run", "seccomp"), ("bench", "seccomp"), ("record", "ptrace")] {
        let uses = |example: Example<'_>| {
            let command = example.command.strip_prefix(CARGO_RUN);
            let command = command.or(example.command.strip_prefix("callgate "));
            command.and_then(|command| command.split(' ').next()) == Some(subcommand)
        };
        if block.examples().into_iter().any(uses) {
            needs(what)?;
        }
    }
    let directory = Directory::new(&format!("readme-{}", block.line));
    for example in block.examples() {
        let command = match example.command.strip_prefix(CARGO_RUN) {
            Some(arguments) => format!("callgate {arguments}"),
            None => example.command.to_owned(),
        };
        let redirect = if block.has("noisy") { "2>/dev/null" } else { "2>&1" };
        let output = directory.run(&format!("exec {redirect}\n{command}"));
        let printed = String::from_utf8_lossy(&output.stdout);
        let code = output.status.code();
        assert!(
            code == Some(0) || block.has("noisy") && code == Some(3),
            "README.md, block at line {}: {command}: {}\n{printed}",
            block.line,
            output.status
        );
        let plain = |line: &str| {
            let line = if block.has("noisy") { without_remark(line) } else { line };
            match block.has("numbers") {
                true => without_numbers(line),
                false => line.to_owned(),
            }
        };
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        let own: Vec<String> = printed.iter().map(|line| plain(line)).collect();
        let shown = &example.prints;
        let same = is_shown(&own, &shown.iter().map(|line| plain(line)).collect::<Vec<_>>());
        assert!(
            same,
            "README.md, block at line {}: {command}\nshown:\n{}\nprinted:\n{}",
            block.line,
            shown.join("\n"),
            printed.join("\n")
        );
    }
    Ok(())
}

/// The line without what `bench` says about an interval that noise made wide.
fn without_remark(line: &str) -> &str {
    let end = [", rough", ", not resolved"].iter().find_map(|remark| line.strip_suffix(remark));
    end.unwrap_or(line)
}

/// Whether lines are shown: a line `…` stands for at least one line.
pub(super) fn is_shown(lines: &[String], shown: &[String]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return lines.is_empty() };
    match first == "…" {
        true => (1..=lines.len()).any(|left_out| is_shown(&lines[left_out..], rest)),
        false => lines.first() == Some(first) && is_shown(&lines[1..], rest),
    }
}

/// The line with `0` for each number, and one space for each gap.
pub(super) fn without_numbers(line: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let words = line.split_whitespace().map(|word| {
        let end = word.trim_end_matches([':', ',']);
        let number = end.trim_start_matches(['+', '-']);
        let has_digit = number.contains(|c: char| c.is_ascii_digit());
        match has_digit && number.chars().all(is_number) {
            true => format!("0{}", &word[end.len()..]),
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
