//! Command lines of Docker, Podman and nerdctl, and Podman's units (Quadlet), which name the profile of a container.
//!
//! The words of a command are those of a shell, with quotes, and without what only a shell knows: a value with a variable
//! other than the current directory is not known. A command with `run` or `create` describes a container. The option counts
//! that comes last, and without one the container has the default profile, or if it is privileged none.
//!
//! Sources: docker-run(1), podman-systemd.unit(5).

use super::container::{caps_of, option_value};
use super::named::{Named, Which};
use crate::built_in::defaults::Engine;
use crate::capabilities::CapSet;
use crate::diagnostics::quote::shorten;

/// A word with its byte offset.
type Word = (usize, String);

/// The options of a container that decide about its filter.
pub(super) struct Options {
    /// Where the container is described.
    at: usize,
    /// The value of the option with the profile.
    pub(super) profile: Option<(usize, String)>,
    pub(super) is_privileged: bool,
    pub(super) added: Vec<String>,
    pub(super) dropped: Vec<String>,
    name: Option<String>,
}

impl Options {
    pub(super) fn new(at: usize) -> Options {
        Options {
            at,
            profile: None,
            is_privileged: false,
            added: Vec::new(),
            dropped: Vec::new(),
            name: None,
        }
    }

    /// Reads the options of a command line.
    pub(super) fn read(&mut self, words: &[Word]) {
        let mut rest = words.iter();
        while let Some((at, word)) = rest.next() {
            let (option, value) = match word.split_once('=') {
                Some((option, value)) if option.starts_with("--") => {
                    (option, Some((*at, value.to_owned())))
                }
                _ => (word.as_str(), None),
            };
            let mut value =
                || value.clone().or_else(|| rest.next().map(|(at, word)| (*at, word.clone())));
            match option {
                "--security-opt" => {
                    if let Some((at, value)) = value() {
                        if let Some(profile) = option_value(&value) {
                            self.profile = Some((at, profile.to_owned()));
                        }
                    }
                }
                "--cap-add" => self.added.extend(value().into_iter().flat_map(capabilities)),
                "--cap-drop" => self.dropped.extend(value().into_iter().flat_map(capabilities)),
                "--name" => self.name = value().map(|(_, name)| name),
                "--privileged" => self.is_privileged = !word.ends_with("=false"),
                _ => {}
            }
        }
    }

    /// The container with its profile.
    pub(super) fn named(self, engine: Engine, whose: String, name: Option<String>) -> Named {
        let own = |list: &[String]| -> CapSet {
            let added: Vec<&str> = list.iter().map(String::as_str).collect();
            let dropped: Vec<&str> = self.dropped.iter().map(String::as_str).collect();
            caps_of(engine, &added, &dropped)
        };
        let caps = if self.is_privileged { CapSet::all() } else { own(&self.added) };
        let is_said = self.profile.is_some() || self.is_privileged;
        let (at, which) = match self.profile {
            Some((at, value)) => (at, which(&value)),
            None if self.is_privileged => (self.at, Which::Unconfined("it is privileged")),
            None => (self.at, Which::Default),
        };
        let is_file = matches!(which, Which::File(_));
        let warning = (self.is_privileged && is_file && engine == Engine::Docker).then_some([
            "the container is privileged, and Docker 25 and older ignore its profile",
            "with such a version, the container has no filter",
        ]);
        let names = name.or(self.name).into_iter().collect();
        Named { whose, names, at, which, is_said, caps, engine, warning }
    }
}

fn capabilities((_, value): (usize, String)) -> Vec<String> {
    value.split(',').map(str::to_owned).collect()
}

/// The profile that a value of the option names.
fn which(value: &str) -> Which {
    const HERE: [&str; 5] = ["$PWD/", "${PWD}/", "$(pwd)/", "`pwd`/", "./"];
    match value {
        "unconfined" => return Which::Unconfined("its option is seccomp=unconfined"),
        "builtin" | "" => return Which::Default,
        _ => {}
    }
    let path = HERE.iter().find_map(|here| value.strip_prefix(here)).unwrap_or(value);
    match path.contains(['$', '`']) || path.starts_with('~') {
        true => Which::Unknown(format!("a shell completes {}", shorten(value))),
        false => Which::File(path.to_owned()),
    }
}

/// Whether a text begins as a script does, or as a command of an engine, perhaps after a prompt or `sudo`.
pub(super) fn begins(text: &str) -> bool {
    let first = text.trim_start();
    let line = first.lines().next().unwrap_or_default();
    (line.starts_with("#!") && line.contains("sh"))
        || line.split_ascii_whitespace().take(3).any(|word| engine(word).is_some())
}

/// The containers that commands or a unit of Podman describe; none if the text has no such command.
pub(super) fn containers(text: &str) -> Vec<Named> {
    if is_quadlet(text) {
        return vec![quadlet(text)];
    }
    match text.contains("--security-opt") {
        true => commands(text),
        false => Vec::new(),
    }
}

/// Whether a text is a unit of Podman, whose own process systemd does not filter.
pub(super) fn is_quadlet(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| line == "[Container]")
        && !text.lines().any(|line| line.trim_start().starts_with("SystemCall"))
}

fn quadlet(text: &str) -> Named {
    let mut options = Options::new(0);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start + (line.len() - line.trim_start().len());
        start += line.len();
        let Some((key, value)) = line.trim().split_once('=') else { continue };
        let (key, value) = (key.trim_end(), value.trim());
        let words = || value.split_ascii_whitespace().map(str::to_owned);
        match key {
            "SeccompProfile" => options.profile = Some((at, value.to_owned())),
            "AddCapability" => options.added.extend(words()),
            "DropCapability" => options.dropped.extend(words()),
            "PodmanArgs" => {
                let words: Vec<Word> = words().map(|word| (at, word)).collect();
                options.read(&words);
            }
            _ => {}
        }
    }
    options.named(Engine::Podman, "the container of this unit".to_owned(), None)
}

/// The containers that the commands of a text create.
fn commands(text: &str) -> Vec<Named> {
    let mut found = Vec::new();
    for words in split(text) {
        let program = words.iter().position(|(_, word)| engine(word).is_some());
        let Some((program, rest)) = program.and_then(|at| words.get(at..)?.split_first()) else {
            continue;
        };
        let creates = |(_, word): &Word| matches!(word.as_str(), "run" | "create");
        if !rest.iter().any(creates) {
            continue;
        }
        let mut options = Options::new(program.0);
        options.read(rest);
        let whose = match &options.name {
            Some(name) => format!("the container {}", shorten(name)),
            None => "the container".to_owned(),
        };
        found.push(options.named(engine(&program.1).unwrap_or(Engine::Docker), whose, None));
    }
    found
}

/// The engine of a program.
fn engine(word: &str) -> Option<Engine> {
    match word.rsplit('/').next()? {
        "docker" => Some(Engine::Docker),
        "podman" => Some(Engine::Podman),
        "nerdctl" => Some(Engine::Containerd),
        _ => None,
    }
}

/// The words of each command.
fn split(text: &str) -> Vec<Vec<Word>> {
    let mut commands = vec![Vec::new()];
    let mut letters = text.char_indices().peekable();
    let mut word: Option<Word> = None;
    let mut quote = None;
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None | Some('"'), '\\') => match letters.next().map(|(_, letter)| letter) {
                Some('\n') | None => {}
                // The line goes on after a line end of two characters as well.
                Some('\r') if letters.peek().is_some_and(|(_, next)| *next == '\n') => {
                    letters.next();
                }
                Some(other) => add(&mut word, at, other),
            },
            (Some(_), _) => add(&mut word, at, letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_with(|| (at, String::new()));
            }
            (None, '#') if word.is_none() => {
                while letters.peek().is_some_and(|(_, next)| *next != '\n') {
                    letters.next();
                }
            }
            (None, '$') if next == Some('(') => {
                add(&mut word, at, letter);
                for (_, inner) in letters.by_ref() {
                    add(&mut word, at, inner);
                    if matches!(inner, ')' | '\n') {
                        break;
                    }
                }
            }
            (None, ';' | '&' | '|' | '\n') => {
                finish(&mut commands, word.take());
                commands.push(Vec::new());
            }
            (None, _) if letter.is_whitespace() => finish(&mut commands, word.take()),
            (None, _) => add(&mut word, at, letter),
        }
    }
    finish(&mut commands, word);
    commands.retain(|words| !words.is_empty());
    commands
}

/// Adds a letter to a word, which begins here if it has none yet.
fn add(word: &mut Option<Word>, at: usize, letter: char) {
    word.get_or_insert_with(|| (at, String::new())).1.push(letter);
}

/// Adds a word to the last command.
fn finish(commands: &mut [Vec<Word>], word: Option<Word>) {
    if let (Some(word), Some(last)) = (word, commands.last_mut()) {
        last.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let plain = |words: Vec<Word>| words.into_iter().map(|(_, word)| word).collect();
        split(text).into_iter().map(plain).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, expected) in [
            ("a 'b c' \"d\\\"e\" f\\ g", vec![vec!["a", "b c", "d\"e", "f g"]]),
            ("a \\\n  b # c\nd; e && f", vec![vec!["a", "b"], vec!["d"], vec!["e"], vec!["f"]]),
            ("a=$(pwd)/b c\\\r\nd ''", vec![vec!["a=$(pwd)/b", "cd", ""]]),
            ("'open", vec![vec!["open"]]),
            ("\\", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn values_name_files_beside_the_text() {
        let file = |path: &str| Which::File(path.to_owned());
        for (value, expected) in [
            ("$PWD/a.json", file("a.json")),
            ("$(pwd)/a/b.json", file("a/b.json")),
            ("./a.json", file("a.json")),
            ("/etc/a.json", file("/etc/a.json")),
            ("builtin", Which::Default),
        ] {
            assert_eq!(which(value), expected, "{value}");
        }
        for value in ["~/a.json", "$DIR/a.json", "`x`/a.json"] {
            assert!(matches!(which(value), Which::Unknown(_)), "{value}");
        }
        assert!(matches!(which("unconfined"), Which::Unconfined(_)));
    }
}
