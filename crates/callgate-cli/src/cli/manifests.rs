//! The command lines in the manifests for fleets, and in their documentation, are accepted.

use std::path::{Path, PathBuf};

use super::parse;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The words of a command line of a shell, without what follows it. Variables and substitutions get a value.
fn words(line: &str) -> Vec<String> {
    let mut line = line.to_owned();
    while let Some(start) = line.find("$(") {
        let mut depth = 0;
        let end = line[start..].find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ')' && depth == 0
        });
        line.replace_range(start..=start + end.expect("an open substitution"), "value");
    }
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        if ["&", "|", ">", "<", ";", "#", "&&"].iter().any(|end| word.starts_with(end)) {
            break;
        }
        let word = word.replace("$RECORD_FOR", "1h").replace("$", "");
        words.push(word.replace(['"', '\''], ""));
        if line.contains(" -- ") && word == "--" {
            words.push("command".to_owned());
            break;
        }
    }
    words
}

/// The command lines of callgate in a text, with continued lines joined.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let commands = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let at = line.find("callgate ")?;
        // The start of the line, or after a pipe or in a shell that kubectl exec starts.
        let is_command = at == 0 || line[..at].ends_with("| ") || line[..at].ends_with(" sh -c '");
        is_command.then(|| words(&line[at..]))
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
fn the_command_lines_of_the_manifests_are_accepted() {
    for (name, least) in [("fleet/kubernetes/recorder.yaml", 1), ("docs/fleet.md", 10)] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        let indented = if Path::new(name).extension().is_some_and(|kind| kind == "md") {
            // Examples are indented by four blanks; sentences are not.
            text.lines().filter(|line| line.starts_with("    ")).collect::<Vec<_>>().join("\n")
        } else {
            text
        };
        let all = command_lines(&indented);
        assert!(all.len() >= least, "{name}: {all:?}");
        all.iter().for_each(|words| must_parse(name, words));
    }
}

#[test]
fn the_recorder_of_the_manifest_attaches_with_labels() {
    let text = std::fs::read_to_string(root().join("fleet/kubernetes/recorder.yaml")).unwrap();
    let all = command_lines(&text);
    let words = all.iter().find(|words| words.iter().any(|word| word == "--container")).unwrap();
    for label in ["node=", "image=", "namespace=", "pod=", "container="] {
        assert!(words.iter().any(|word| word.starts_with(label)), "{label}: {words:?}");
    }
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
