//! The command lines in the manifests for fleets, and in pages about tasks, are accepted.

use std::path::{Path, PathBuf};

use super::parse;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The words of a command line of a shell, without what follows it. Variables, substitutions and the word PID get a value.
fn words(line: &str) -> Vec<String> {
    let mut line = line.to_owned();
    while let Some(start) = line.find("$(") {
        let mut depth = 0;
        let end = line[start..].find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ')' && depth == 0
        });
        line.replace_range(start..=start + end.expect("an open substitution"), "1");
    }
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '&' | '|' | '>' | '<' | ';' | '#') if word.is_none() => break,
            // Variables.
            (None, '$') => {}
            (_, c) => word.get_or_insert_default().push(c),
        }
        if words.last().is_some_and(|last| last == "--") {
            words.push("command".to_owned());
            break;
        }
    }
    for word in words.iter_mut().filter(|word| *word == "PID") {
        "1".clone_into(word);
    }
    words
}

/// The command lines of callgate in a text, with continued lines joined.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let commands = text.lines().filter_map(|line| {
        let line = line.trim_start();
        // The start of the line, or after a pipe, in a pod, as root, or in a sandbox.
        let is_command = |at: usize| {
            at == 0 || ["| ", " -- ", "sudo ", "firejail "].iter().any(|b| line[..at].ends_with(b))
        };
        let (at, _) = line.match_indices("callgate ").find(|(at, _)| is_command(*at))?;
        Some(words(&line[at..]))
    });
    commands.collect()
}

fn must_parse(place: &str, words: &[String]) {
    let words: Vec<_> = words.iter().map(Into::into).collect();
    if let Err(error) = parse(&words) {
        panic!("{place}: {words:?}: {error}");
    }
}

#[test]
fn the_command_lines_of_pages_about_tasks_are_accepted() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("docs/how-to")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        // Examples are indented by four blanks; sentences are not.
        let examples: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
        let all = command_lines(&examples.join("\n"));
        all.iter().for_each(|words| must_parse(&path.display().to_string(), words));
        count += all.len();
    }
    assert!(count >= 80, "{count}");
}

/// The text of a manifest.
fn manifest(name: &str) -> String {
    std::fs::read_to_string(root().join("fleet").join(name)).unwrap()
}

#[test]
fn the_arguments_of_the_recorder_are_accepted() {
    let (pod, values) =
        (manifest("kubernetes/daemonset.yaml"), manifest("kubernetes/kustomization.yaml"));
    let after = pod.split_once("        args:\n").unwrap().1;
    let args = after.lines().map_while(|line| line.strip_prefix("        - "));
    let mut words = vec!["callgate".to_owned()];
    for word in args {
        let mut word = word.replace("$(NODE_NAME)", "node-1");
        for name in ["PODS", "FOR", "MOST"] {
            let value = values.split_once(&format!("  - {name}=")).unwrap().1;
            word = word.replace(&format!("$({name})"), value.lines().next().unwrap());
        }
        assert!(!word.contains('$'), "{word}");
        words.push(word);
    }
    assert!(words.len() > 5, "{words:?}");
    must_parse("daemonset.yaml", &words);
}

#[test]
fn the_image_of_the_recorder_is_that_of_this_version() {
    let base = manifest("kubernetes/kustomization.yaml");
    let version = env!("CARGO_PKG_VERSION");
    assert!(base.contains(&format!("  newTag: {version}\n")), "{base}");
    let example = manifest("kubernetes-example/kustomization.yaml");
    assert!(example.contains(&format!("?ref=v{version}\"")), "{example}");
}

#[test]
fn the_arguments_of_the_hook_are_accepted() {
    let text = std::fs::read_to_string(root().join("fleet/kubernetes/oci-hook.json")).unwrap();
    let hook: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(hook["version"], "1.0.0");
    assert_eq!(hook["stages"], serde_json::json!(["createRuntime"]));
    let words = hook["hook"]["args"].as_array().unwrap().iter();
    let words: Vec<String> = words.map(|word| word.as_str().unwrap().to_owned()).collect();
    must_parse("oci-hook.json", &words);
}
