//! The examples of pages in `docs/`: all fenced blocks of a page are one session, in one directory, from top to bottom.
//!
//! A block with the info string `console` has commands, each after `$ `, and what they print, standard output and standard
//! error together. `# exit status N` below the output is the exit status, unless it is 0. A block with a file name after the
//! language, such as `json profile.json`, is a file. Other blocks are not used. `BLESS=1` writes the output into the page.

use std::path::{Path, PathBuf};

use callgate_testing::{Need, Skip, TestResult, Trial, test};

use super::{Directory, changes, needs};

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
    if text.contains("$ callgate run") {
        needs("seccomp")?;
    }
    if text.contains("$ callgate record") {
        needs("ptrace")?;
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
    while let Some(line) = lines.next() {
        add(line);
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            Some((_, file)) => {
                std::fs::write(directory.0.join(file), block.join("\n") + "\n").unwrap();
                block.iter().for_each(|line| add(line));
            }
            None if info == "console" => {
                for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                    add(&format!("$ {command}"));
                    let output = directory.run(&format!("exec 2>&1\n{command}"));
                    String::from_utf8_lossy(&output.stdout)
                        .lines()
                        .for_each(|line| add(line.trim_end()));
                    match output.status.code() {
                        Some(0) => {}
                        Some(status) => add(&format!("# exit status {status}")),
                        None => panic!("{page}: {command}: {}", output.status),
                    }
                }
            }
            None => block.iter().for_each(|line| add(line)),
        }
        add("```");
    }
    played
}
