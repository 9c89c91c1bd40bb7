//! The Go module: the commit of its tag, and the files from which a module proxy serves it.
//!
//! `go get` takes what a tag contains, so the tag `bindings/go/vVERSION` is not on the branch: its commit adds the generated package
//! and the licences to that of the release. Go itself makes the files of the proxy, from a repository with that tag in
//! place of the one at the owner's: what it refuses would fail there as well.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{copy, make, read, remove, run, write};

use super::context::{Context, execute};
use super::documents::{expect, fenced};
use super::notices::{THIRD_PARTY, notices};
use super::part::Artefact;
use crate::wasm::{BINDINGS, write_go_module, write_module};

/// The module in the repository.
const SUBDIRECTORY: &str = "bindings/go";

/// The target of the engine in it.
const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the files of the proxy, and the bundle.
pub(super) fn build(context: &Context) -> Result<Vec<Artefact>> {
    let scratch = context.scratch("go")?;
    let tree = scratch.join("tree");
    let (module, hash) = write_module(&BINDINGS, &scratch)?;
    write_go_module(&tree, &module, &hash)?;
    write(&tree.join(THIRD_PARTY), notices(context, "crates/callgate-requests", TARGET)?)?;

    let tagged = Tagged::new(context, &scratch)?;
    tagged.commit(&tree)?;
    let bundle = context.output.join("go").join(format!("{}.bundle", tagged.name()));
    tagged.bundle(&bundle)?;

    let path = module_path(context)?;
    let cache = scratch.join("modules");
    let mut go = context.command("go");
    go.args(["mod", "download", &format!("{path}@v{}", context.version)]);
    private(&mut go, &cache, &path).env("GOPROXY", "direct");
    let repository = path.strip_suffix(&format!("/{SUBDIRECTORY}")).unwrap_or(&path);
    go.env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", format!("url.file://{}.insteadOf", tagged.repository.display()))
        .env("GIT_CONFIG_VALUE_0", format!("https://{repository}"));
    run(&mut go)?;

    let below = format!("{path}/@v");
    let (from, to) =
        (cache.join("cache/download").join(&below), context.output.join("go").join(&below));
    make(&to)?;
    let version = &context.version;
    let mut artefacts = vec![Artefact {
        path: context.relative(&bundle)?,
        what: format!("git bundle of the tag {}", tagged.tag),
        machine: None,
    }];
    for (name, what) in [
        ("list".to_owned(), "Go module: its versions"),
        (format!("v{version}.info"), "Go module: the time and the commit"),
        (format!("v{version}.mod"), "Go module: go.mod"),
        (format!("v{version}.zip"), "Go module: the sources"),
    ] {
        let file = to.join(&name);
        write(&file, read(&from.join(&name))?)?;
        artefacts.push(Artefact {
            path: context.relative(&file)?,
            what: what.to_owned(),
            machine: None,
        });
    }
    Ok(artefacts)
}

/// Gets the module as a user does, builds the example of its README and runs it.
pub(super) fn check(context: &Context) -> Result<()> {
    let path = module_path(context)?;
    let scratch = context.scratch("go-check")?;
    let program = scratch.join("example");
    make(&program)?;
    let readme =
        String::from_utf8_lossy(&read(&context.root.join("bindings/go/README.md"))?).into_owned();
    let block = |language| {
        let block = fenced(&readme, language);
        block.ok_or_else(|| format!("bindings/go/README.md: has no block ```{language}"))
    };
    let example = block("go")?;
    write(&program.join("main.go"), example)?;
    let configured = run(Command::new("go").args(["env", "GOPROXY"]))?;
    let proxy = format!("file://{}/go,{}", context.output.display(), configured.trim());
    let go = |arguments: &[&str]| {
        let mut go = Command::new("go");
        go.args(arguments).current_dir(&program);
        private(&mut go, &scratch.join("modules"), &path).env("GOPROXY", &proxy);
        go.env("GOCACHE", scratch.join("cache"));
        go
    };
    let wanted = format!("{path}@v{}", context.version);
    for arguments in [&["mod", "init", "example"][..], &["get", &wanted], &["mod", "tidy"]] {
        run(&mut go(arguments))?;
    }
    execute(&mut go(&["build", "-o", "example", "."]))?;
    let output = run(&mut Command::new(program.join("example")))?;
    expect("the example of bindings/go/README.md", &output, block("text")?)?;
    // Go writes its cache of modules read-only.
    run(&mut go(&["clean", "-modcache"]))?;
    remove(&scratch)
}

/// The path of the module, from `go.mod`.
fn module_path(context: &Context) -> Result<String> {
    let file = read(&context.root.join(SUBDIRECTORY).join("go.mod"))?;
    let text = String::from_utf8_lossy(&file);
    let path = text.lines().find_map(|line| line.strip_prefix("module "));
    path.map(|path| path.trim().to_owned()).ok_or_else(|| "go.mod has no `module`".to_owned())
}

/// Go with modules in this directory only, and without asking the public checksum database for this module.
fn private<'a>(go: &'a mut Command, modules: &Path, path: &str) -> &'a mut Command {
    go.env("GOMODCACHE", modules).env("GONOSUMDB", path).env("GOFLAGS", "-mod=mod -modcacherw")
}

/// A bare repository with the tag of the module, which shares the objects of this one.
struct Tagged<'a> {
    context: &'a Context,
    repository: PathBuf,
    tag: String,
    parent: String,
}

impl Tagged<'_> {
    fn new<'a>(context: &'a Context, scratch: &Path) -> Result<Tagged<'a>> {
        let repository = scratch.join("callgate.git");
        let mut git = context.command("git");
        git.args(["clone", "--quiet", "--bare", "--shared", "."]).arg(&repository);
        run(&mut git)?;
        let parent = run(context.command("git").args(["rev-parse", "HEAD"]))?.trim().to_owned();
        let tag = format!("{SUBDIRECTORY}/v{}", context.version);
        Ok(Tagged { context, repository, tag, parent })
    }

    /// The tag as the name of a file.
    fn name(&self) -> String {
        self.tag.replace('/', "-")
    }

    /// Git in the repository, with an author and times that do not depend on who builds the release, and when.
    fn git(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.arg("--git-dir").arg(&self.repository).args(arguments);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "The Callgate developers")
                .env(format!("GIT_{who}_EMAIL"), self.context.owner.address())
                .env(format!("GIT_{who}_DATE"), format!("@{} +0000", self.context.epoch));
        }
        git.env("GIT_INDEX_FILE", self.repository.join("index-of-tag"));
        git
    }

    /// Commits the repository with this directory as that of the module, and tags the commit.
    fn commit(&self, module: &Path) -> Result<()> {
        let work = self.repository.with_extension("work");
        copy(module, &make_below(&work, SUBDIRECTORY)?)?;
        run(&mut self.git(&["read-tree", &self.parent]))?;
        let mut add = self.git(&["--work-tree"]);
        add.arg(&work).args(["add", "--force", "--all", "--", SUBDIRECTORY]).current_dir(&work);
        run(&mut add)?;
        let tree = run(&mut self.git(&["write-tree"]))?;
        let message =
            format!("Add the generated package of the Go module {}", self.context.version);
        let mut commit = self.git(&["commit-tree", "-p", &self.parent, "-m", &message]);
        let commit = run(commit.arg(tree.trim()))?;
        // `git tag` would sign it if the user's configuration says so.
        let name = format!("refs/tags/{}", self.tag);
        run(&mut self.git(&["update-ref", &name, commit.trim()])).map(drop)
    }

    /// Writes the commit of the tag without its parent, which the repository has.
    fn bundle(&self, file: &Path) -> Result<()> {
        make(file.parent().unwrap_or(file))?;
        // Threads would find other deltas each time.
        let mut git = self.git(&["-c", "pack.threads=1", "bundle", "create", "--quiet"]);
        git.arg(file).args([&format!("refs/tags/{}", self.tag), &format!("^{}", self.parent)]);
        run(&mut git).map(drop)
    }
}

/// The path of a directory below another one, whose parents are made.
fn make_below(directory: &Path, below: &str) -> Result<PathBuf> {
    let path = directory.join(below);
    make(path.parent().unwrap_or(directory))?;
    Ok(path)
}
