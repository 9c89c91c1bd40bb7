//! Runs the files of `sessions/`: the command line as users type it, with what it prints.
//!
//! A file is a session, read from top to bottom in an empty directory:
//!
//! ```text
//! # A comment.
//! @requires user              skip the file unless … (see `missing`)
//! --- name.json               an input file, up to a line of three dashes
//! {"defaultAction": …}
//! ---
//! $ callgate diff a b         a command for /bin/sh; a backslash at the end continues it
//! > a line of standard output
//! ! a line of standard error
//! ? 1                         the exit status, when it is not 0; a signal is 128 and its number
//! ```
//!
//! In an expected line `[..]` stands for any text. `BLESS=1 cargo test -p callgate-cli` writes what the
//! commands print into the files and leaves lines alone that match by `[..]`; read the difference before
//! you commit it. `ONLY=text` runs the files whose name contains the text.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[test]
fn sessions_print_what_they_should() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut paths: Vec<PathBuf> = fs::read_dir(&sessions)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .filter(|path| path.file_stem().unwrap().to_string_lossy().contains(&only))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no file in {} matches {only:?}", sessions.display());

    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = fs::read_to_string(path).unwrap();
        match play(&text, path) {
            Outcome::Skipped(why) => eprintln!("{name}: skipped, {why}"),
            Outcome::Played(played) if played == text => {}
            Outcome::Played(played) if bless => fs::write(path, played).unwrap(),
            Outcome::Played(played) => {
                failures.push(format!("{name}:\n{}", compare(&text, &played)))
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} sessions differ (-expected, +printed; BLESS=1 accepts):\n{}",
        failures.len(),
        paths.len(),
        failures.join("\n")
    );
}

enum Outcome {
    /// The session as it went.
    Played(String),
    Skipped(String),
}

/// Plays a session and writes it down again; what matches stays as it was.
fn play(text: &str, path: &Path) -> Outcome {
    let directory = Directory::new(path);
    let mut played = String::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut commands = 0;
    while let Some((number, line)) = lines.next() {
        played.push_str(line);
        played.push('\n');
        let place = || format!("{}:{}", path.display(), number + 1);
        if line.is_empty() || line.starts_with('#') {
        } else if let Some(what) = line.strip_prefix("@requires ") {
            if let Some(why) = missing(what.trim()) {
                return Outcome::Skipped(why);
            }
        } else if let Some(name) = line.strip_prefix("--- ") {
            let mut content = String::new();
            loop {
                let (_, line) = lines.next().unwrap_or_else(|| panic!("{}: no end", place()));
                played.push_str(line);
                played.push('\n');
                if line == "---" {
                    break;
                }
                content.push_str(line);
                content.push('\n');
            }
            fs::write(directory.0.join(name), content).unwrap();
        } else if let Some(first) = line.strip_prefix("$ ") {
            let mut command = first.to_owned();
            while command.ends_with('\\') {
                let (_, next) = lines.next().unwrap_or_else(|| panic!("{}: no end", place()));
                played.push_str(next);
                played.push('\n');
                command.push('\n');
                command.push_str(next);
            }
            let mut expected = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with(['>', '!', '?']))
            {
                expected.push(line);
            }
            for line in matched(&expected, &printed(&directory.run(&command))) {
                played.push_str(&line);
                played.push('\n');
            }
            commands += 1;
        } else {
            panic!("{}: neither a comment, a file, nor a command: {line}", place());
        }
    }
    assert!(commands > 0, "{} has no command", path.display());
    Outcome::Played(played)
}

/// What this machine lacks for a session, if it does.
fn missing(what: &str) -> Option<String> {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    let met = match what {
        // Permissions of files do not stop root.
        "user" => !root,
        // Only root can make files that belong to another user.
        "root" => root,
        // Only CAP_SYS_ADMIN may look at filters, and only without a filter of its own.
        "admin" => {
            let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:\t"));
            let capabilities = capabilities.and_then(|text| u64::from_str_radix(text, 16).ok());
            capabilities.is_some_and(|set| set >> 21 & 1 == 1)
                && status.lines().any(|line| line == "Seccomp:\t0")
        }
        // Emulators and some sandboxes have no seccomp.
        "seccomp" => status.lines().any(|line| line.starts_with("Seccomp:")),
        // Containers and emulators may forbid it.
        "ptrace" => {
            let recorded = Command::new(env!("CARGO_BIN_EXE_callgate"))
                .args(["record", "--via", "ptrace", "-o", "/dev/null", "--", "/bin/sh", "-c", ":"])
                .output()
                .unwrap();
            !String::from_utf8_lossy(&recorded.stderr).contains("cannot be")
        }
        what => panic!("unknown requirement: {what}"),
    };
    (!met).then(|| format!("it requires {what}"))
}

/// A directory for one session, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(session: &Path) -> Directory {
        let name = session.file_stem().unwrap().to_string_lossy();
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn run(&self, command: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_callgate"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(
            std::iter::once(program.parent().unwrap().to_owned())
                .chain(std::env::split_paths(&path)),
        );
        Command::new("/bin/sh")
            .arg("-c")
            .arg(command)
            .current_dir(&self.0)
            .env_clear()
            .env("PATH", path.unwrap())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a command printed, in the form of the files.
fn printed(output: &Output) -> Vec<String> {
    let mut lines = Vec::new();
    for (mark, bytes) in [('>', &output.stdout), ('!', &output.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        lines.extend(text.lines().map(|line| format!("{mark} {line}").trim_end().to_owned()));
    }
    let status = output.status.code().or(output.status.signal().map(|signal| 128 + signal));
    match status {
        Some(0) => {}
        status => lines.push(format!("? {}", status.unwrap())),
    }
    lines
}

/// The printed lines, with the expected one in place of each that it matches.
fn matched(expected: &[&str], printed: &[String]) -> Vec<String> {
    let same_count = expected.len() == printed.len();
    let mut rest = expected.iter();
    printed
        .iter()
        .map(|line| {
            // With as many lines as expected compare one by one; else look for the next that matches.
            let found = if same_count {
                rest.next().filter(|pattern| matches(pattern, line))
            } else {
                rest.clone().find(|pattern| pattern.contains("[..]") && matches(pattern, line))
            };
            found.map_or_else(|| line.clone(), |pattern| (*pattern).to_owned())
        })
        .collect()
}

/// Whether a line is the pattern, in which `[..]` stands for any text.
fn matches(pattern: &str, line: &str) -> bool {
    let parts: Vec<&str> = pattern.split("[..]").collect();
    let [first, between @ .., last] = parts.as_slice() else {
        return pattern == line;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    for part in between {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The lines that differ.
fn compare(expected: &str, printed: &str) -> String {
    let expected: Vec<&str> = expected.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    let common = expected.iter().zip(&printed).take_while(|(a, b)| a == b).count();
    let tail = expected[common..]
        .iter()
        .rev()
        .zip(printed[common..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = String::new();
    if let Some(line) = expected[..common].iter().rev().find(|line| line.starts_with('$')) {
        text += &format!("   {line}\n");
    }
    for line in &expected[common..expected.len() - tail] {
        text += &format!("  -{line}\n");
    }
    for line in &printed[common..printed.len() - tail] {
        text += &format!("  +{line}\n");
    }
    text
}

#[test]
fn patterns_match_whole_lines() {
    for (pattern, line, result) in [
        ("> abc", "> abc", true),
        ("> abc", "> abcd", false),
        ("> a[..]", "> a", true),
        ("> a[..]c", "> abbc", true),
        ("> a[..]c", "> ac d", false),
        ("> [..]b[..]d", "> abcd", true),
        ("> [..]b[..]d", "> acbd", true),
        ("> [..]b[..]b", "> ab", false),
    ] {
        assert_eq!(matches(pattern, line), result, "{pattern} / {line}");
    }
}
