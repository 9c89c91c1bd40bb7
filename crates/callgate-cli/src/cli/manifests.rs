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
        let word = word.replace('$', "");
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
        // The start of the line, or after a pipe or in a pod.
        let is_command =
            |at: usize| at == 0 || ["| ", " -- "].iter().any(|before| line[..at].ends_with(before));
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
fn the_command_lines_of_the_page_are_accepted() {
    let text = std::fs::read_to_string(root().join("docs/how-to/fleet.md")).unwrap();
    // Examples are indented by four blanks; sentences are not.
    let examples: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
    let all = command_lines(&examples.join("\n"));
    assert!(all.len() >= 10, "{all:?}");
    all.iter().for_each(|words| must_parse("docs/how-to/fleet.md", words));
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
