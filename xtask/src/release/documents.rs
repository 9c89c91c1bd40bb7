//! Examples in documents, which checks run as their readers do.

use callgate_tasks::Result;

/// An example of a document: a command, and what it prints.
pub(super) struct Example {
    pub(super) command: String,
    pub(super) output: String,
}

impl Example {
    /// The first command of a document, as an installed program: a checkout runs `cargo callgate`.
    pub(super) fn first(document: &str) -> Option<Example> {
        let mut lines = document.lines().map_while(|line| Some(line.strip_prefix("    ")));
        let command = lines.by_ref().flatten().find_map(|line| line.strip_prefix("$ "))?;
        let output = lines.map_while(|line| line.filter(|line| !line.starts_with("$ ")));
        let output: String = output.map(|line| format!("{line}\n")).collect();
        let words = command.strip_prefix("cargo ").unwrap_or(command);
        words.starts_with("callgate ").then(|| Example { command: words.to_owned(), output })
    }
}

/// The indented block behind `<!-- name -->`.
pub(super) fn named(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("<!-- {name} -->\n"))?;
    let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    let lines: String =
        lines.map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(""))).collect();
    let text = lines.trim_matches('\n');
    (!text.is_empty()).then(|| format!("{text}\n"))
}

/// The first block between fences with the name of a language.
pub(super) fn fenced<'a>(document: &'a str, language: &str) -> Option<&'a str> {
    let (_, rest) = document.split_once(&format!("```{language}\n"))?;
    rest.split_once("```").map(|(block, _)| block)
}

/// The command that installs something, in the table of a document: `| for what | `command` … |`.
pub(super) fn installation<'a>(document: &'a str, start: &str) -> Option<&'a str> {
    let commands = document.lines().filter_map(|line| line.strip_prefix("| "));
    let mut commands = commands.filter_map(|line| line.split_once(" | `")?.1.split('`').next());
    commands.find(|command| command.starts_with(start))
}

/// Fails if a command of a document printed something else.
pub(super) fn expect(command: &str, printed: &str, expected: &str) -> Result<()> {
    match printed == expected {
        true => Ok(()),
        false => Err(format!("{command}: printed\n{printed}\nnot\n{expected}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_example_is_found_with_its_output() {
        let document = "# Title\n\nText:\n\n    $ cargo callgate run -- true\n    a\n      b\n    $ ls\n    c\n";
        let first = Example::first(document).unwrap();
        assert_eq!(first.command, "callgate run -- true");
        assert_eq!(first.output, "a\n  b\n");
        let last = Example::first("    $ callgate explain x\n    a\n\nText.\n\n    b\n").unwrap();
        assert_eq!(last.output, "a\n");
        assert!(Example::first("    $ cargo build\n").is_none());
    }

    #[test]
    fn blocks_are_indented_text_behind_their_names() {
        let document = "<!-- a -->\n\n    int x;\n\n      y\n\nText.\n\n<!-- b -->\n\nText.\n";
        assert_eq!(named(document, "a").as_deref(), Some("int x;\n\n  y\n"));
        assert_eq!(named(document, "b"), None);
        assert_eq!(named(document, "c"), None);
    }

    #[test]
    fn fences_have_languages() {
        let document = "```\nno\n```\n\n```go\nfirst\n```\n\n```go\nsecond\n```\n```text\nopen\n";
        assert_eq!(fenced(document, "go"), Some("first\n"));
        assert_eq!(fenced(document, "text"), None);
    }

    #[test]
    fn the_readme_says_how_each_thing_is_installed() {
        let readme = std::fs::read(callgate_tasks::workspace().join("README.md")).unwrap();
        let readme = String::from_utf8(readme).unwrap();
        for start in super::super::newcomer::INSTALLATIONS {
            assert!(installation(&readme, start).is_some(), "{start}");
        }
        let table = "| a | `apt install ./a.deb` |\n| b | `tar xf b.tar.gz`: a binary |\n";
        assert_eq!(installation(table, "tar "), Some("tar xf b.tar.gz"));
        assert_eq!(installation(table, "npm "), None);
    }
}
