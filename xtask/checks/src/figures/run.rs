//! Checks and updates the figures.

use std::path::{Path, PathBuf};

use callgate_tasks::files::{read, write};
use callgate_tasks::{Result, workspace};

use super::quotes::{Document, Phrase};
use super::registry::{FILE, OLDER, Registry};
use super::{code, page};
use crate::structure::documents;

pub(crate) const HELP: &str = "\
usage: cargo xtask figures [--mark | --measured RUN]

Writes lab/results/figures.md, a page with the measured values that documents quote, and
lists the runs that are older than the code that they measure. The values are in
docs/figures.json; each phrase that quotes them must have the same value, which
`cargo xtask structure` checks.

  --mark           mark the runs whose code has changed since then as older
  --measured RUN   the values of this run were measured with the code as it is
";

/// Writes the page, and perhaps marks of age.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let root = workspace();
    let mut text = text_of(&root.join(FILE))?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {}
        ["--mark"] => {
            for (name, found) in changed(&root, &Registry::parse(&text)?)? {
                text = with_code(&text, &name, OLDER)?;
                println!("{name}: the code is now {found}; marked as older");
            }
        }
        ["--measured", name] => {
            let registry = Registry::parse(&text)?;
            let run = registry.runs.iter().find(|run| run.name == *name);
            let run = run.ok_or_else(|| format!("{FILE}: no run with the name {name:?}"))?;
            text = with_code(&text, name, &code::hash(&root, &run.measures)?)?;
        }
        _ => return Err(format!("unexpected arguments {arguments:?}; try --help")),
    }
    let registry = Registry::parse(&text)?;
    write(&root.join(FILE), &text)?;
    write(&root.join(page::PAGE), page::text(&registry))?;
    let older = registry.runs.iter().filter(|run| run.is_older());
    let older: Vec<String> = older.map(|run| format!("  {}: {}", run.name, run.command)).collect();
    println!("{} runs, {} older than their code", registry.runs.len(), older.len());
    if !older.is_empty() {
        println!("{}", older.join("\n"));
    }
    Ok(())
}

/// What is wrong with the figures and their quotes, as messages.
pub(crate) fn check(root: &Path, packages: &[PathBuf]) -> Result<Vec<String>> {
    let registry = Registry::parse(&text_of(&root.join(FILE))?)?;
    let mut errors = Vec::new();
    let mut all = Vec::new();
    for path in documents::documents(root, packages)? {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if name != page::PAGE {
            all.push(Document::new(name, &text_of(&path)?));
        }
    }
    for run in &registry.runs {
        for (name, phrases) in &run.quotes {
            if !all.iter().any(|document| document.name == *name) {
                errors.push(format!("{FILE}: {}: no such document: {name}", run.name));
            }
            for phrase in phrases {
                let phrase = Phrase::parse(run, phrase)?;
                let mut is_quoted = false;
                for document in &all {
                    for found in phrase.occurrences(document) {
                        is_quoted |= document.name == *name;
                        if found.given != found.expected {
                            errors.push(format!(
                                "{}:{}: quotes {}, but {} of {FILE} has {}; change the one that is wrong",
                                document.name,
                                found.line,
                                found.given.join(" and "),
                                run.name,
                                found.expected.join(" and ")
                            ));
                        }
                    }
                }
                if !is_quoted {
                    errors.push(format!(
                        "{FILE}: {}: {name} does not have the phrase {:?}",
                        run.name,
                        phrase.text()
                    ));
                }
            }
        }
    }
    for (name, found) in changed(root, &registry)? {
        errors.push(format!(
            "{FILE}: {name}: the measured code has changed (it is {found} now); measure again and run cargo xtask \
             figures --measured {name}, or mark it as older with cargo xtask figures --mark"
        ));
    }
    if text_of(&root.join(page::PAGE))? != page::text(&registry) {
        errors.push(format!("{}: not as {FILE} has it; run cargo xtask figures", page::PAGE));
    }
    errors.dedup();
    Ok(errors)
}

/// The runs that are not marked although their code has changed, with the hash of the code as it is.
fn changed(root: &Path, registry: &Registry) -> Result<Vec<(String, String)>> {
    let mut changed = Vec::new();
    for run in &registry.runs {
        let found = code::hash(root, &run.measures)
            .map_err(|why| format!("{FILE}: {}: {why}", run.name))?;
        if !run.is_older() && run.code != found {
            changed.push((run.name.clone(), found));
        }
    }
    Ok(changed)
}

/// The text of the registry with another value of `code` of a run. Everything else remains as it was written.
fn with_code(text: &str, run: &str, code: &str) -> Result<String> {
    let missing = || format!("{FILE}: {run}: \"code\" must follow \"name\", as \"code\": \"…\"");
    let start = text.find(&format!("\"name\": \"{run}\"")).ok_or_else(missing)?;
    let key = "\"code\": \"";
    let at = start + text[start..].find(key).ok_or_else(missing)? + key.len();
    let end = at + text[at..].find('"').ok_or_else(missing)?;
    Ok(format!("{}{code}{}", &text[..at], &text[end..]))
}

fn text_of(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&read(path)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_the_run_is_replaced() {
        let text =
            r#"{"name": "a", "code": "older"}, {"name": "b", "code": "older", "x": "older"}"#;
        let changed = with_code(text, "b", "0123456789abcdef").unwrap();
        assert_eq!(
            changed,
            r#"{"name": "a", "code": "older"}, {"name": "b", "code": "0123456789abcdef", "x": "older"}"#
        );
        assert!(with_code(text, "c", "older").is_err());
    }
}
