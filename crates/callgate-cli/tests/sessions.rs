//! Runs the commands in the files of `sessions/` and in the examples of `README.md` and of some pages in `docs/`, and compares their output. Each
//! file and each example is a test; `cargo test -p callgate-cli --test integration -- sessions::NAME` runs those whose name begins
//! with `NAME`, and `-- readme`, `-- docs` the examples.
//!
//! A file is a session, read from top to bottom in an empty directory:
//!
//! ```text
//! # A comment.
//! @requires user              ignore the test unless … (see `needs`)
//! --- name.json               an input file, up to a line of three dashes
//! {"defaultAction": …}
//! ---
//! $ callgate diff a b         a command for /bin/sh; a backslash at the end continues it
//! > a line of standard output
//! ! a line of standard error
//! ? 1                         the exit status unless it is 0; for a signal, 128 plus its number
//! ```
//!
//! In an expected line, `[..]` matches any text. `BLESS=1 cargo test -p callgate-cli` writes the output of the
//! commands into the files, except for lines that match with `[..]`; read the difference before you commit it.
//! `session/readme.rs` and `session/page.rs` describe how examples in `README.md` and in pages are compared.

use std::fs;
use std::path::{Path, PathBuf};

use callgate_testing::{TestResult, Trial, name_in, test};

use crate::session;

/// The tests of this module: one per session, and those of the examples in documents.
pub(crate) fn trials() -> Vec<Trial> {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut paths: Vec<PathBuf> = fs::read_dir(&sessions)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "test"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no session in {}", sessions.display());

    let mut tests = vec![test(
        name_in(module_path!(), "patterns_match_whole_lines"),
        session::patterns_match_whole_lines,
    )];
    tests.extend(paths.into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        test(name_in(module_path!(), &name), move || matches_its_output(&path))
    }));
    tests.extend(session::readme::tests());
    tests.extend(session::page::tests());
    tests
}

fn matches_its_output(path: &Path) -> TestResult {
    let text = fs::read_to_string(path).unwrap();
    let played = session::play(&text, path)?;
    if played == text {
    } else if std::env::var_os("BLESS").is_some() {
        fs::write(path, played).unwrap();
    } else {
        panic!(
            "{} differs (-expected, +printed; BLESS=1 accepts):\n{}",
            path.display(),
            session::changes(&text, &played)
        );
    }
    Ok(())
}
