//! The GitHub action that reviews filters, with a program in place of `gh`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_testing::{Need, TestResult, needs_program};

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        a_pull_request_gets_one_comment,
        filters_without_changes_get_no_comment,
        a_long_comment_is_shortened,
        a_filter_that_cannot_be_read_is_an_error,
        a_filter_that_could_not_be_read_before_is_not_an_error,
        a_token_that_cannot_comment_is_a_warning,
        an_included_file_that_cannot_be_read_is_an_error,
        all_lines_of_the_options_count,
        a_base_that_does_not_exist_is_an_error,
        directories_and_links_out_of_the_tree_are_no_filters,
        a_filter_that_reads_as_another_one_is_an_error,
    ]
}

const OLD: &str = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
  {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"}]}"#;
const NEW: &str = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
  {"names": ["read", "write", "ptrace"], "action": "SCMP_ACT_ALLOW"}]}"#;

/// Lists a comment of another author with the same first line, another one of the same author, and the one of the action if
/// `comment` exists, all through the caller's query; keeps the body of the last one that was written.
const GH: &str = r##"#!/bin/sh
echo "$*" >> "$STUB/calls"
for last; do :; done
[ ! -e "$STUB/refuse" ] || exit 1
case "$*" in
  *--paginate*)
    {
      echo '[{"id": 1, "user": {"login": "x"}, "body": "<!-- callgate review -->"},'
      echo '{"id": 2, "user": {"login": "github-actions[bot]"}, "body": "See <!-- callgate review -->"}'
      [ ! -e "$STUB/comment" ] ||
        echo ',{"id": 4711, "user": {"login": "github-actions[bot]"}, "body": "<!-- callgate review --> x"}'
      echo ']'
    } | jq -r "$last" ;;
  *body=@*) cp "${last#body=@}" "$STUB/comment" ;;
  *) exit 3 ;;
esac
"##;

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

    /// Runs the action's scripts against the commit before the last one; returns the exit status of the first, and the
    /// standard output of both.
    fn review(&self, files: &str) -> (Option<i32>, String) {
        self.review_with(files, "--arch x86_64\n--kernel 6.12", "HEAD~1")
    }

    fn review_with(&self, files: &str, options: &str, base: &str) -> (Option<i32>, String) {
        let inputs = [("FILES", files), ("OPTIONS", options), ("BASE", base)];
        let (status, mut text) = self.script("review", &inputs);
        let output = self.read("output");
        if let Some(count) = output.lines().rev().find_map(|line| line.strip_prefix("count=")) {
            let token = [
                ("COUNT", count),
                ("AUTHOR", "github-actions[bot]"),
                ("REPOSITORY", "o/r"),
                ("PULL_REQUEST", "7"),
                ("GH_TOKEN", "secret"),
            ];
            let (published, more) = self.script("publish", &token);
            assert_eq!(published, Some(0), "{more}");
            text += &more;
        }
        (status, text)
    }

    fn script(&self, name: &str, variables: &[(&str, &str)]) -> (Option<i32>, String) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/actions/review");
        let callgate = Path::new(env!("CARGO_BIN_EXE_callgate")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.0.join("bin"), callgate].into_iter().chain(std::env::split_paths(&path));
        let output = Command::new("timeout")
            .args(["-k", "10", "240", "bash"])
            .arg(script.join(name))
            .current_dir(self.0.join("repository"))
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("STUB", &self.0)
            .env("COMMENT", self.0.join("written"))
            .env("GITHUB_OUTPUT", self.0.join("output"))
            .env("GITHUB_STEP_SUMMARY", self.0.join("summary"))
            .envs(variables.iter().copied())
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
    needs_program(Need::Tool, "git")?;
    needs_program(Need::Tool, "jq")
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
        "and it is dangerous: ptrace.",
        "### What `head/profiles/a.json` allows",
        "<details><summary>Syscalls on x86_64</summary>",
        "## profiles/gone.json\n\nThe file was removed.",
        "## profiles/new.json\n\nThe file is new.",
    ] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    assert!(!comment.contains("same.json"), "{comment}");
    assert_eq!(ground.read("output"), "changed=true\ncount=3\n".repeat(2));
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
    assert_eq!(ground.read("output"), "changed=false\ncount=0\n");
    assert_eq!(ground.review("missing.json").0, Some(2));
    // Another text with the same meaning is reviewed.
    ground.write("profiles/a.json", &format!("{OLD}\n\n"));
    ground.commit();
    assert_eq!(ground.review("**/a.json").0, Some(0));
    assert!(ground.read("comment").contains("None: both return the same verdict"));
    assert!(ground.read("output").ends_with("changed=false\ncount=1\n"));
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

fn a_filter_that_could_not_be_read_before_is_not_an_error() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("unreadable-base");
    ground.write("profiles/a.json", "{\"defaultAction\": 1}");
    ground.write("profiles/b.json", "{\"defaultAction\": 2}");
    ground.commit();
    ground.write("README", "other");
    ground.commit();
    let (status, text) = ground.review("profiles/*.json");
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("::error::"), "{text}");
    ground.write("profiles/a.json", NEW);
    ground.commit();
    let (status, text) = ground.review("profiles/*.json");
    assert_eq!(status, Some(0), "{text}");
    let comment = ground.read("comment");
    assert!(
        comment.contains("could not be read before") && !comment.contains("b.json"),
        "{comment}"
    );
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

fn an_included_file_that_cannot_be_read_is_an_error() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("included");
    ground.write("profiles/a.policy", "@include ./inc.policy\nread: 1\n");
    ground.write("profiles/inc.policy", "write: 1\n");
    ground.commit();
    ground.write("profiles/inc.policy", "wriet: 1\n");
    ground.commit();
    let (status, text) = ground.review("profiles/a.policy");
    assert_eq!(status, Some(1), "{text}");
    assert!(
        ground.read("comment").contains("unknown syscall `wriet`"),
        "{}",
        ground.read("comment")
    );
    Ok(())
}

fn all_lines_of_the_options_count() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("options");
    ground.write("profiles/a.json", OLD);
    ground.commit();
    ground.write("profiles/a.json", NEW);
    ground.commit();
    let (status, text) =
        ground.review_with("profiles/a.json", "--arch x86_64\n--nonsense", "HEAD~1");
    assert_eq!(status, Some(1), "{text}");
    assert!(ground.read("comment").contains("unexpected argument '--nonsense'"));
    Ok(())
}

fn a_base_that_does_not_exist_is_an_error() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("base");
    ground.write("profiles/a.json", OLD);
    ground.commit();
    for (base, message) in [("", "the input \"base\" is empty"), ("0123abc", "fetch-depth: 0")] {
        let (status, text) = ground.review_with("profiles/a.json", "", base);
        assert_eq!(status, Some(2), "{text}");
        assert!(text.starts_with("::error::") && text.contains(message), "{text}");
    }
    Ok(())
}

fn directories_and_links_out_of_the_tree_are_no_filters() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("links");
    fs::create_dir_all(ground.0.join("repository/profiles/sub")).unwrap();
    ground.write("profiles/sub/a.json", OLD);
    ground.commit();
    ground.write("profiles/sub/a.json", NEW);
    fs::write(ground.0.join("outside"), "hidden words").unwrap();
    let link = ground.0.join("repository/profiles/outside.json");
    std::os::unix::fs::symlink("../../outside", link).unwrap();
    ground.commit();
    let (status, text) = ground.review("profiles/**");
    assert_eq!(status, Some(0), "{text}");
    let comment = ground.read("comment");
    assert!(comment.contains("## profiles/sub/a.json\n"), "{comment}");
    assert_eq!(comment.matches("\n## ").count(), 1, "{comment}");
    assert!(!comment.contains("hidden words"), "{comment}");
    Ok(())
}

/// What is refused with --strict, which is always on.
fn a_filter_that_reads_as_another_one_is_an_error() -> TestResult {
    needs_tools()?;
    let ground = Ground::new("strict");
    for file in ["environ.policy", "config.policy", "hidden.policy"] {
        ground.write(&format!("profiles/{file}"), "read: 1\n");
    }
    ground.write("profiles/inside.policy", "@include ./../common.policy\nread: 1\n");
    ground.write("common.policy", "write: 1\n");
    ground.commit();
    ground.git(&["config", "some.key", "hunter2"]);
    ground.write("profiles/environ.policy", "@include /proc/self/environ\n");
    ground.write("profiles/config.policy", "@include ./../.git/config\n");
    ground.write("profiles/hidden.policy", "# read\u{2067}: 1\nread: 1\n");
    ground.write("common.policy", "write: 1\nclose: 1\n");
    ground.commit();
    for options in ["--arch x86_64", "--strict\n--arch x86_64"] {
        let (status, text) = ground.review_with("profiles/*.policy", options, "HEAD~1");
        assert_eq!(status, Some(1), "{text}");
        let comment = ground.read("comment");
        for part in [
            "/proc/self/environ\": /proc/self/environ is not in ",
            "./../.git/config\": head/profiles/../.git/config is not in ",
            "hidden.policy:1:7: error: U+2067 is a bidirectional control",
            "x86_64 `close()`",
        ] {
            assert!(comment.contains(part), "{part} in {comment}");
        }
        for secret in ["hunter2", "GITHUB_OUTPUT", "PATH"] {
            assert!(!comment.contains(secret), "{secret} in {comment}");
        }
    }
    Ok(())
}
