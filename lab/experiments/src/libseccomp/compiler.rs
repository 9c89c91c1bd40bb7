//! Asks the helper, and checks its answers.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callgate::Endian;
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_core::{Program, RawInsn};

use super::error::{LibseccompError, LibseccompErrorKind};
use super::question::question;

/// libseccomp takes milliseconds, or hangs for some rules of which one covers another.
const LIMIT: Duration = Duration::from_secs(20);

/// The name of the library for the dynamic linker.
const NAME: &str = "libseccomp.so.2";

/// A libseccomp that a helper process loads for each program.
#[derive(Clone, Debug)]
pub struct Libseccomp {
    helper: PathBuf,
    library: PathBuf,
}

/// The library that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The version that it claims.
    pub version: String,
    /// Its file.
    pub path: String,
    /// Whether it is the drop-in of this project.
    pub is_ours: bool,
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Identity { version, path, is_ours } = self;
        match is_ours {
            true => write!(f, "Callgate's drop-in for {version}, not libseccomp itself ({path})"),
            false => write!(f, "{version} ({path})"),
        }
    }
}

impl Libseccomp {
    /// The `libseccomp.so.2` of this machine; `helper` is the program `callgate-lab`.
    pub fn of_machine(helper: impl Into<PathBuf>) -> Libseccomp {
        Libseccomp { helper: helper.into(), library: PathBuf::from(NAME) }
    }

    /// Another file.
    #[must_use]
    pub fn with_library(self, library: impl Into<PathBuf>) -> Libseccomp {
        Libseccomp { library: library.into(), ..self }
    }

    /// Which library is loaded.
    ///
    /// # Errors
    /// If there is none.
    pub fn identity(&self) -> Result<Identity, LibseccompError> {
        self.ask("").map(|(identity, _)| identity)
    }

    /// The policy as the list of tests that libseccomp makes by default.
    ///
    /// # Errors
    /// If libseccomp cannot express the policy, or the program is too long.
    pub fn list(&self, policy: &Policy) -> Result<Program, LibseccompError> {
        self.program(policy, 1)
    }

    /// The policy as the binary search that libseccomp makes with `SCMP_FLTATR_CTL_OPTIMIZE` set to 2.
    ///
    /// # Errors
    /// If libseccomp cannot express the policy, or the program is too long.
    pub fn tree(&self, policy: &Policy) -> Result<Program, LibseccompError> {
        self.program(policy, 2)
    }

    fn program(&self, policy: &Policy, level: u32) -> Result<Program, LibseccompError> {
        let (_, bytes) = self.ask(&question(policy, level)?)?;
        let given = bytes.len() / RawInsn::SIZE;
        // It generates instructions for this machine.
        let endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
        let program = Program::from_bytes(&bytes, endian)
            .map_err(|_| LibseccompError(LibseccompErrorKind::TooLong { given }))?;

        let mut store = Store::default();
        let failed = |why: &dyn std::fmt::Display| {
            LibseccompError(LibseccompErrorKind::Diagram(why.to_string()))
        };
        let meant = store.policy(policy).map_err(|error| failed(&error))?;
        let meaning = store.program(&program, policy.endian()).map_err(|error| failed(&error))?;
        match meaning == meant {
            true => Ok(program),
            false => Err(LibseccompError(LibseccompErrorKind::Meaning)),
        }
    }

    /// The library, and the bytes of the program.
    fn ask(&self, question: &str) -> Result<(Identity, Vec<u8>), LibseccompError> {
        let failed = |why: String| LibseccompError(LibseccompErrorKind::Helper(why));
        let text = said(&self.helper, &self.library, question).map_err(failed)?;
        let line = |key: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            found.ok_or_else(|| failed(format!("the helper of libseccomp printed no {key}")))
        };
        let identity = Identity {
            version: line("version")?.to_owned(),
            path: line("path")?.to_owned(),
            is_ours: line("ours")? == "true",
        };
        if question.is_empty() {
            return Ok((identity, Vec::new()));
        }
        let digits = line("program")?.as_bytes().chunks(2);
        let bytes: Option<Vec<u8>> = digits
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let bytes = bytes.ok_or_else(|| failed("the helper printed no bytes".to_owned()))?;
        Ok((identity, bytes))
    }
}

/// What the helper prints.
fn said(helper: &Path, library: &Path, question: &str) -> Result<String, String> {
    let failed = |why: std::io::Error| format!("{}: {why}", helper.display());
    let mut child = Command::new(helper)
        .args(["libseccomp-program", "--library"])
        .arg(library)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A helper that ends early says why.
            let _ = input.map(|mut input| input.write_all(question.as_bytes()));
        });
        let output = scope.spawn(|| text(output));
        let errors = scope.spawn(|| text(errors));
        let status = end_of(&mut child);
        let (output, errors) = (output.join(), errors.join());
        let (Ok(output), Ok(errors)) = (output, errors) else {
            return Err("the output of the helper of libseccomp was not read".to_owned());
        };
        match status.map_err(failed)? {
            Some(status) if status.success() => Ok(output),
            Some(_) => {
                let message = errors.trim();
                Err(message.strip_prefix("lab libseccomp-program: ").unwrap_or(message).to_owned())
            }
            None => Err(format!("libseccomp took longer than {} s", LIMIT.as_secs())),
        }
    })
}

fn text(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is the text.
    let _ = from.map(|mut from| from.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The status of a child when it ends; `None` if it was ended after the time limit.
fn end_of(child: &mut Child) -> std::io::Result<Option<std::process::ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
