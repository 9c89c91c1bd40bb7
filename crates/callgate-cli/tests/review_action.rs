//! The GitHub action that reviews filters, with a program in place of `gh`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_testing::{Need, TestResult, needs_program};

callgate_testing::tests![
    a_pull_request_gets_one_comment,
    filters_without_changes_get_no_comment,
    a_long_comment_is_shortened,
    a_filter_that_cannot_be_read_is_an_error,
    a_token_that_cannot_comment_is_a_warning,
];

const OLD: &str = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
  {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"}]}"#;
const NEW: &str = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
  {"names": ["read", "write", "ptrace"], "action": "SCMP_ACT_ALLOW"}]}"#;

/// Lists a comment of somebody else, and one of the action if `comment` exists; keeps the body of the last one.
const GH: &str = r#"#!/bin/sh
echo "$*" >> "$STUB/calls"
[ ! -e "$STUB/refuse" ] || exit 1
case "$*" in
  *--paginate*) [ ! -e "$STUB/comment" ] || echo 4711 ;;
  *body=@comment*) cp comment "$STUB/comment" ;;
  *) exit 3 ;;
esac
"#;

/// A repository with a base commit, and what the action wrote.
struct Ground(PathBuf);

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Ground {
    fn new(name: &str) -> Ground {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("review-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("repository/profiles")).unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        let gh = root.join("bin/gh");
        fs::write(&gh, GH).unwrap();
        fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
        let ground = Ground(root);
        ground.git(&["init", "-q"]);
        ground
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.0.join("repository").join(file), text).unwrap();
    }

    fn git(&self, args: &[&str]) {
        let config = ["-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false"];
        let status = Command::new("git")
            .args(config)
            .args(args)
            .current_dir(self.0.join("repository"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status()
            .unwrap();
        assert!(status.success(), "git {args:?}");
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", "x"]);
    }

    /// Runs the action's script against the first commit; returns its exit status and standard output.
    fn review(&self, files: &str) -> (Option<i32>, String) {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/actions/review/review");
        let callgate = Path::new(env!("CARGO_BIN_EXE_callgate")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.0.join("bin"), callgate].into_iter().chain(std::env::split_paths(&path));
        let output = Command::new("bash")
            .arg(script)
            .current_dir(self.0.join("repository"))
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("STUB", &self.0)
            .env("FILES", files)
            .env("OPTIONS", "--arch x86_64 --kernel 6.12")
            .env("BASE", "HEAD~1")
            .env("AUTHOR", "github-actions[bot]")
            .env("REPOSITORY", "o/r")
            .env("PULL_REQUEST", "7")
            .env("GH_TOKEN", "secret")
            .env("GITHUB_OUTPUT", self.0.join("output"))
            .env("GITHUB_STEP_SUMMARY", self.0.join("summary"))
            .output()
            .unwrap();
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

fn needs_tools() -> TestResult {
    needs_program(Need::Tool, "bash")?;
    needs_program(Need::Tool, "git")
}

fn a_pull_request_gets_one_comment() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("one");
    ground.write("profiles/a.json", OLD);
    ground.write("profiles/same.json", OLD);
    ground.write("profiles/gone.json", OLD);
    ground.commit();
    ground.write("profiles/a.json", NEW);
    ground.write("profiles/new.json", OLD);
    ground.git(&["rm", "-q", "profiles/gone.json"]);
    ground.commit();
    for method in ["POST repos/o/r/issues/7/comments", "PATCH repos/o/r/issues/comments/4711"] {
        assert_eq!(ground.review("profiles/*.json\n").0, Some(0));
        assert!(ground.read("calls").contains(method), "{}", ground.read("calls"));
    }
    let comment = ground.read("comment");
    assert!(comment.starts_with("<!-- callgate review -->\n"), "{comment}");
    for part in [
        "## profiles/a.json\n",
        "### Changes from `base/profiles/a.json` to `head/profiles/a.json`",
        "**More is allowed**\n\n- x86_64 `ptrace()`",
        "dangerous: `ptrace`",
        "### What `head/profiles/a.json` allows",
        "<details><summary>Syscalls on x86_64</summary>",
        "## profiles/gone.json\n\nThe file was removed.",
        "## profiles/new.json\n\nThe file is new.",
    ] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    assert!(!comment.contains("same.json"), "{comment}");
    assert_eq!(ground.read("output"), "changed=true\n".repeat(2));
    assert!(ground.read("summary").contains(&comment));
    // Nothing stays in the repository.
    ground.git(&["diff", "--quiet", "HEAD"]);
    let worktrees = fs::read_dir(ground.0.join("repository/.git/worktrees"));
    assert_eq!(worktrees.map_or(0, Iterator::count), 0);
    Ok(())
}

fn filters_without_changes_get_no_comment() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("none");
    ground.write("profiles/a.json", OLD);
    ground.commit();
    ground.write("README", "x");
    ground.commit();
    assert_eq!(ground.review("profiles/a.json").0, Some(0));
    assert!(!ground.read("calls").contains("POST"), "{}", ground.read("calls"));
    assert_eq!(ground.read("output"), "changed=false\n");
    assert_eq!(ground.review("missing.json").0, Some(2));
    // Another text with the same meaning is reviewed.
    ground.write("profiles/a.json", &format!("{OLD}\n\n"));
    ground.commit();
    assert_eq!(ground.review("**/a.json").0, Some(0));
    assert!(ground.read("comment").contains("None: both return the same verdict"));
    assert_eq!(ground.read("output"), "changed=false\n".repeat(2));
    Ok(())
}

fn a_long_comment_is_shortened() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("long");
    ground.write("README", "x");
    ground.commit();
    for at in 0..12 {
        ground.write(&format!("profiles/{at:02}.json"), OLD);
    }
    ground.commit();
    assert_eq!(ground.review("profiles/*").0, Some(0));
    let comment = ground.read("comment");
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(comment.contains("## profiles/11.json") && !comment.contains("<details>"));
    assert!(comment.ends_with("\nThe summary of the job has all syscalls.\n"));
    assert!(ground.read("summary").len() > 65_536);
    Ok(())
}

fn a_filter_that_cannot_be_read_is_an_error() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("wrong");
    ground.write("profiles/a.json", OLD);
    ground.commit();
    ground.write("profiles/a.json", "{\"defaultAction\": 1}");
    ground.commit();
    let (status, text) = ground.review("profiles/*.json");
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("::error::"), "{text}");
    let comment = ground.read("comment");
    assert!(comment.contains("### callgate diff failed\n\n    callgate: "), "{comment}");
    Ok(())
}

fn a_token_that_cannot_comment_is_a_warning() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("refused");
    ground.write("profiles/a.json", OLD);
    ground.commit();
    ground.write("profiles/a.json", NEW);
    ground.commit();
    fs::write(ground.0.join("refuse"), "").unwrap();
    let (status, text) = ground.review("profiles/*.json");
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("::warning::"), "{text}");
    assert!(ground.read("summary").contains("`ptrace()`"));
    Ok(())
}
