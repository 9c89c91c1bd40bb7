//! The driver in Go: built below `target/`, one process for all texts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use callgate_formats::oci::Dialect;

use callgate_tasks::files::{make, run, write};
use callgate_tasks::{Result, workspace};

const FILES: [(&str, &str); 3] = [
    ("main.go", include_str!("driver/main.go")),
    ("go.mod", include_str!("driver/go.mod")),
    ("go.sum", include_str!("driver/go.sum")),
];

/// The syntax of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    Yaml,
}

/// Whose profile a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Docker,
    Podman,
    Runc,
    /// An OCI configuration for runc.
    Config,
    /// A Kubernetes `SeccompProfile` resource.
    Resource,
}

impl Owner {
    pub(super) const ALL: [Owner; 5] =
        [Owner::Docker, Owner::Podman, Owner::Runc, Owner::Config, Owner::Resource];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Owner::Docker => "docker",
            Owner::Podman => "podman",
            Owner::Runc => "runc",
            Owner::Config => "config",
            Owner::Resource => "resource",
        }
    }

    /// The dialect in which a reader in Go reads the profile.
    pub(super) const fn dialect(self) -> Dialect {
        match self {
            Owner::Docker => Dialect::Docker,
            Owner::Podman => Dialect::Podman,
            Owner::Runc | Owner::Config | Owner::Resource => Dialect::Runc,
        }
    }
}

/// The running driver.
pub(super) struct Driver {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Driver {
    /// Builds the driver, and starts it.
    pub(super) fn start() -> Result<Driver> {
        let directory = workspace().join("target/documents");
        make(&directory)?;
        for (name, text) in FILES {
            write(&directory.join(name), text)?;
        }
        let arguments = ["build", "-mod=readonly", "-o", "driver", "."];
        run(Command::new("go").args(arguments).current_dir(&directory))?;
        let mut process = Command::new(directory.join("driver"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the driver does not start: {error}"))?;
        let (requests, answers) = (process.stdin.take(), process.stdout.take());
        let (Some(requests), Some(answers)) = (requests, answers) else {
            return Err("the driver has no pipes".to_owned());
        };
        Ok(Driver { process, requests, answers: BufReader::new(answers) })
    }

    /// What the reader in Go understands, as JSON, or why it refuses the text.
    pub(super) fn read(
        &mut self,
        syntax: Syntax,
        owner: Owner,
        text: &str,
    ) -> Result<std::result::Result<String, String>> {
        let syntax = if syntax == Syntax::Yaml { "yaml" } else { "json" };
        let ended = |error: std::io::Error| format!("the driver has ended: {error}");
        let header = format!("{syntax}-{} {}\n", owner.name(), text.len());
        self.requests.write_all((header + text).as_bytes()).map_err(ended)?;
        self.requests.flush().map_err(ended)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(ended)?;
        let wrong = || format!("the driver answers {line:?}");
        let (status, length) = line.trim().split_once(' ').ok_or_else(wrong)?;
        let mut answer = vec![0; length.parse().map_err(|_| wrong())?];
        self.answers.read_exact(&mut answer).map_err(ended)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        match status {
            "ok" => Ok(Ok(answer)),
            "no" => Ok(Err(answer)),
            _ => Err(wrong()),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
