//! Installs a finished release as its users do, on a fresh Debian 12 without Rust: by the commands in README.md, from the files of
//! the release alone, and runs the first example of each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use callgate_tasks::Result;
use callgate_tasks::files::{make, read, run, write};

use super::context::{Context, Machine};
use super::documents::{Example, expect, fenced, installation, named};
use super::root::{self, Root};

/// How the commands of README.md begin.
const COMMAND_PACKAGE: &str = "apt install ./callgate_";
const COMMAND_ARCHIVE: &str = "tar xf callgate-";
const WHEEL: &str = "pip install callgate";
const GO: &str = "go get ";
const NPM: &str = "npm install callgate";
const C: &str = "apt install ./libcallgate-dev_";
const DROP_IN: &str = "apt install ./libseccomp2-callgate_";

#[cfg(test)]
pub(super) const INSTALLATIONS: [&str; 7] =
    [COMMAND_PACKAGE, COMMAND_ARCHIVE, WHEEL, GO, NPM, C, DROP_IN];

/// The programs with which a newcomer works: compilers, and a program that uses libseccomp.
const PROGRAMS: &str =
    "--include=ca-certificates,gcc,libatomic1,libc6-dev,libstdc++6,man-db,pkg-config,python3-venv";

/// Where the release is in the root directory.
const RELEASE: &str = "/release";

/// What is installed and used.
type Task<'a> = fn(&Newcomer<'a>) -> Result<()>;

/// Checks all of it.
pub(super) fn check(context: &Context) -> Result<()> {
    let Some(machine) = context.machines.iter().copied().find(|one| context.is_native(*one)) else {
        println!("not checked: nothing is for this machine");
        return Ok(());
    };
    let base = root::system(context, "debian-12-newcomer", &[PROGRAMS.to_owned()])?;
    let root = root::copy(context, &base, "newcomer")?;
    run(Command::new("cp").arg("-r").arg(&context.output).arg(root.path.join("release")))?;
    let newcomer = Newcomer { context, machine, root };
    newcomer.prepare()?;
    let tasks: [(&str, Task<'_>); 8] = [
        ("checksums", Newcomer::checksums),
        ("the command as a package", Newcomer::command_package),
        ("the command as an archive", Newcomer::command_archive),
        ("the wheel", Newcomer::wheel),
        ("the package for JavaScript", Newcomer::npm),
        ("the Go module", Newcomer::go),
        ("the library for C", Newcomer::c),
        ("libseccomp.so.2, and back", Newcomer::drop_in),
    ];
    for (name, task) in tasks {
        let start = Instant::now();
        task(&newcomer).map_err(|error| format!("newcomer, {name}: {error}"))?;
        println!("-- newcomer: {name}, {:.1} s", start.elapsed().as_secs_f64());
    }
    callgate_tasks::files::remove(&newcomer.root.path)
}

/// A fresh system with the files of a release.
struct Newcomer<'a> {
    context: &'a Context,
    machine: Machine,
    root: Root,
}

impl Newcomer<'_> {
    /// Adds what Debian 12 has too old: this system's Go and Node.js, and the modules that ours depends on.
    fn prepare(&self) -> Result<()> {
        let which = |program: &str| -> Result<PathBuf> {
            let path = run(Command::new("sh").args(["-c", &format!("command -v {program}")]))?;
            Path::new(path.trim()).canonicalize().map_err(|error| format!("{program}: {error}"))
        };
        let go = |name| run(Command::new("go").args(["env", name]));
        let local = self.root.path.join("usr/local");
        self.bring(Path::new(go("GOROOT")?.trim()), &local.join("go"))?;
        self.bring(&which("node")?, &local.join("bin/node"))?;
        // npm is a script in the directory `bin` of its package.
        let npm = which("npm")?;
        let package = npm.parent().and_then(Path::parent).ok_or("npm: is in no package")?;
        self.bring(package, &local.join("lib/node_modules/npm"))?;
        let mut download = self.context.command("go");
        run(download.current_dir(self.context.root.join("bindings/go")).args(["mod", "download"]))?;
        let modules = PathBuf::from(go("GOMODCACHE")?.trim()).join("cache/download");
        self.bring(&modules, &self.root.path.join("modules"))?;
        let home = "mkdir /home/user && chown 1000:1000 /home/user && ! command -v cargo rustc";
        run(&mut self.root.command(&["sh", "-c", home])).map(drop)
    }

    /// Copies a file or a directory of this system.
    fn bring(&self, from: &Path, to: &Path) -> Result<()> {
        make(to.parent().unwrap_or(to))?;
        run(Command::new("cp").args(["--archive", "--no-target-directory"]).arg(from).arg(to))
            .map(drop)
    }

    /// What a user's shell prints.
    fn user(&self, directory: &str, script: &str) -> Result<String> {
        let home = format!("/home/user/{directory}");
        let script = format!("mkdir -p {home} && cd {home} && {script}");
        run(&mut self.root.user(&["sh", "-ec", &script]))
    }

    /// Installs by a command of README.md, with apt as root in the directory of the release that has the files.
    fn apt(&self, directory: &str, start: &str) -> Result<Vec<String>> {
        let command = self.readme(start)?;
        let script = format!(
            "cd {RELEASE}/{directory} && {}",
            command.replacen("install", "install --yes", 1)
        );
        run(&mut self.root.command(&["sh", "-ec", &script]))?;
        let files = command.split_whitespace().filter_map(|word| word.strip_prefix("./"));
        Ok(files.filter_map(|file| Some(file.split_once('_')?.0.to_owned())).collect())
    }

    /// Removes packages again.
    fn purge(&self, packages: &[String]) -> Result<()> {
        let mut purge = self.root.command(&["apt-get", "purge", "--yes"]);
        run(purge.args(packages)).map(drop)
    }

    fn readme(&self, start: &str) -> Result<String> {
        let readme = self.document("README.md")?;
        let command = installation(&readme, start);
        let command = command.ok_or_else(|| format!("README.md: does not say `{start}…`"))?;
        // README.md has the names for the usual machine.
        let [usual, ..] = super::context::MACHINES;
        Ok(command
            .replace(usual.debian, self.machine.debian)
            .replace(usual.name, self.machine.name))
    }

    fn document(&self, path: &str) -> Result<String> {
        let text = read(&self.context.root.join(path))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The first block of a document in a language.
    fn block(&self, path: &str, language: &str) -> Result<String> {
        let document = self.document(path)?;
        let block = fenced(&document, language);
        block.map(str::to_owned).ok_or_else(|| format!("{path}: has no block ```{language}"))
    }

    /// Writes a file into a directory of the user.
    fn file(&self, directory: &str, name: &str, text: &str) -> Result<()> {
        self.user(directory, "true")?;
        write(&self.root.path.join("home/user").join(directory).join(name), text)
    }

    fn checksums(&self) -> Result<()> {
        self.user("", &format!("cd {RELEASE} && sha256sum --quiet --check SHA256SUMS")).map(drop)
    }

    fn command_package(&self) -> Result<()> {
        let packages = self.apt("command", COMMAND_PACKAGE)?;
        self.first_example("PATH=$PATH")?;
        self.purge(&packages)?;
        match self.user("", "command -v callgate") {
            Err(_) => Ok(()),
            Ok(path) => Err(format!("{} is left", path.trim())),
        }
    }

    fn command_archive(&self) -> Result<()> {
        let unpack =
            self.readme(COMMAND_ARCHIVE)?.replacen("xf ", &format!("xf {RELEASE}/command/"), 1);
        self.user("archive", &unpack)?;
        self.first_example("PATH=$(echo /home/user/archive/callgate-*):$PATH")
    }

    /// Runs the first example of README.md, which is one of the command.
    fn first_example(&self, variables: &str) -> Result<()> {
        let readme = self.document("README.md")?;
        let Example { command, output } =
            Example::first(&readme).ok_or("README.md: has no example with callgate")?;
        let printed = self.user("", &format!("export {variables}; {{ {command}\n}} 2>&1"))?;
        expect(&command, &printed, &output)
    }

    fn wheel(&self) -> Result<()> {
        let example = self.block("bindings/python/README.md", "pycon")?;
        self.file("python", "example.txt", &example)?;
        // Of the files for several machines and C libraries, pip chooses.
        let install = self.readme(WHEEL)?.replacen(
            "install",
            &format!("install --quiet --no-index --find-links {RELEASE}/python"),
            1,
        );
        let printed = self.user(
            "python",
            &format!("python3 -m venv environment && . environment/bin/activate && {install} && python -m doctest -v -o NORMALIZE_WHITESPACE example.txt"),
        )?;
        if !printed.contains("Test passed.") || printed.contains("\n0 passed") {
            return Err(printed);
        }
        // The first examples of the package compile only; this one installs a filter.
        self.file(
            "python",
            "program.py",
            &self.block("docs/how-to/filters-in-python.md", "python")?,
        )?;
        let printed = self.user("python", ". environment/bin/activate && python program.py")?;
        let last = printed.lines().last().unwrap_or_default();
        expect("the program of docs/how-to/filters-in-python.md", last, "Operation not permitted")
    }

    fn npm(&self) -> Result<()> {
        let example = self.block("bindings/js/README.md", "js")?;
        self.file("npm", "example.mjs", &example)?;
        let file = format!("{RELEASE}/npm/callgate-{}.tgz", self.context.version);
        let install =
            self.readme(NPM)?.replacen(" callgate", &format!(" --silent --offline {file}"), 1);
        let npm = "node /usr/local/lib/node_modules/npm/bin/npm-cli.js";
        let install = install.replacen("npm", npm, 1);
        let printed =
            self.user("npm", &format!("echo '{{}}' >package.json; {install} && node example.mjs"))?;
        let expected = example
            .lines()
            .find_map(|line| line.split_once("); // "))
            .ok_or("bindings/js/README.md: the first example does not say what it prints")?;
        expect("node example.mjs", &printed, &format!("{}\n", expected.1))
    }

    fn go(&self) -> Result<()> {
        let example = self.block("bindings/go/README.md", "go")?;
        // ~/go is where Go keeps modules.
        self.file("program", "main.go", &example)?;
        let get = self.readme(GO)?;
        // Modules of others are from the proxy of this system.
        let proxy = format!(
            "GOPROXY=file://{RELEASE}/go,file:///modules GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-modcacherw"
        );
        let printed = self.user(
            "program",
            &format!("export PATH=/usr/local/go/bin:$PATH {proxy}; {{ go mod init example && {get} && go mod tidy && go build; }} >log 2>&1 || {{ cat log; exit 1; }}; ./example"),
        )?;
        expect(
            "the example of bindings/go/README.md",
            &printed,
            &self.block("bindings/go/README.md", "text")?,
        )
    }

    fn c(&self) -> Result<()> {
        let document = self.document("docs/how-to/filters-in-c.md")?;
        for name in ["sandbox.c", "sandbox.kafel"] {
            let text = named(&document, name)
                .ok_or_else(|| format!("docs/how-to/filters-in-c.md: has no block {name}"))?;
            self.file("c", name, &text)?;
        }
        let packages = self.apt("c", C)?;
        let build = "gcc sandbox.c $(pkg-config --cflags --libs callgate) -o sandbox && ./sandbox";
        expect(
            "the example of docs/how-to/filters-in-c.md",
            &self.user("c", build)?,
            "this is allowed\n",
        )?;
        self.purge(&packages)
    }

    fn drop_in(&self) -> Result<()> {
        let libdir = self.machine.libdir();
        let library = format!("readlink -f {libdir}/libseccomp.so.2");
        let (before, page) = (self.user("", &library)?, self.user("", "man ls")?);
        let ours = format!("{libdir}/callgate/libseccomp.so.2");
        let packages = self.apt("drop-in", DROP_IN)?;
        let ldd = format!("LD_LIBRARY_PATH={libdir}/callgate ldd /usr/bin/man");
        if !self.user("", &ldd)?.contains(&ours) {
            return Err(format!("{ldd}: does not find {ours}"));
        }
        expect(&library, &self.user("", &library)?, &format!("{ours}\n"))?;
        expect("man ls", &self.user("", "man ls")?, &page)?;
        self.purge(&packages)?;
        expect(&library, &self.user("", &library)?, &before)?;
        expect("man ls", &self.user("", "man ls")?, &page)
    }
}
