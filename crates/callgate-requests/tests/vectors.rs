//! The test vectors of all bindings, `bindings/vectors/NAME.request.json` with `NAME.answer.json`: each binding must
//! return the same bytes. `BLESS=1 cargo test -p callgate-requests` writes the answers.

use std::fs;
use std::path::{Path, PathBuf};

fn requests() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/vectors");
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_request = |path: &PathBuf| path.to_string_lossy().ends_with(".request.json");
    let mut requests: Vec<PathBuf> = paths.filter(is_request).collect();
    requests.sort();
    requests
}

#[test]
fn answers_are_those_of_the_vectors() {
    let requests = requests();
    assert!(requests.len() > 40, "only {} vectors", requests.len());
    let mut different = Vec::new();
    for request in requests {
        let answer = callgate_requests::answer(&fs::read_to_string(&request).unwrap());
        let path =
            PathBuf::from(request.to_string_lossy().replace(".request.json", ".answer.json"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, answer).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != answer {
            different.push(format!("{}: {answer}", path.display()));
        }
    }
    assert!(different.is_empty(), "BLESS=1 accepts:\n{}", different.join("\n"));
}

#[test]
fn every_prefix_of_a_request_is_an_error() {
    for path in requests() {
        let request = fs::read_to_string(&path).unwrap();
        let whole = request.trim_end();
        for (end, _) in whole.char_indices() {
            let answer = callgate_requests::answer(&whole[..end]);
            assert!(answer.starts_with("{\n  \"errors\": ["), "{}: {end}", path.display());
        }
    }
}
