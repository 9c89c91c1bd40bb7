//! The checker that is proved in Coq: `--verify` asks it about a program, `--coq` writes the question as a theorem.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;

use callgate_core::{Endian, Program};
use callgate_linux::error_text;
use clap::ValueHint;
use rustix::fs::MemfdFlags;

use crate::help::CHECKING;
use crate::report::{self, Failure, Result};
use crate::source::SourceStack;
use crate::{output, policy_text};

/// The checker.
const CHECKER: &str = "callgate-check";

/// Whether the checker is asked, and the file for the theorem.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifiedOptions {
    /// Also give the program with its policy text to callgate-check, the checker that is proved in Coq; write nothing
    /// unless it accepts
    #[arg(long, help_heading = CHECKING)]
    verify: bool,

    /// Also write policy, program and the theorem that both agree as a file for coqc (see verified/README.md)
    #[arg(long = "coq", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CHECKING)]
    theorem: Option<PathBuf>,
}

impl VerifiedOptions {
    /// Whether a policy text is needed.
    pub(crate) fn is_given(&self) -> bool {
        self.verify || self.theorem.is_some()
    }

    /// Has the program checked, and writes the theorem, as far as that is requested.
    pub(crate) fn check(&self, text: &str, program: &Program, endian: Endian) -> Result<()> {
        if self.verify {
            verify(text, program, endian)?;
        }
        let program = program.to_bytes(endian);
        match &self.theorem {
            Some(file) if file.as_os_str() == "-" => {
                Err(Failure::new("--coq cannot write to standard output, which has the result")
                    .help("give a file name; for a file named -, write ./-"))
            }
            Some(file) => output::write_file(file, theorem(text, &program).as_bytes()),
            None => Ok(()),
        }
    }
}

/// Has the checker decide about a program; an error unless it accepts it.
pub(crate) fn verify(text: &str, program: &Program, endian: Endian) -> Result<()> {
    let answer = ask(text, &program.to_bytes(endian))?;
    if !answer.accepts {
        let message = format!("{CHECKER} does not accept the program: {}", answer.said);
        return Err(Failure::new(message).help(DEFECT));
    }
    answer.note();
    Ok(())
}

/// What to do if the checker contradicts the proof.
const DEFECT: &str =
    "this is a defect of callgate or of the checker; please report it with both files";

/// What the checker says.
struct Answer {
    accepts: bool,
    said: String,
}

impl Answer {
    fn note(&self) {
        report::note(&format!("callgate: {CHECKER}: {}\n", self.said));
    }
}

/// Has the checker compare a policy, which is one of two sources, with a program, which is the other. It must agree with the
/// result of the comparison by diagrams.
pub(crate) fn compare([a, b]: [&SourceStack; 2], conditions: &str, is_same: bool) -> Result<()> {
    let program = |stack: &SourceStack| match stack.filters.as_slice() {
        [filter] => filter.given_program().cloned(),
        _ => None,
    };
    let (policy, program) = match (program(a), program(b)) {
        (None, Some(program)) => (a, program),
        (Some(program), None) => (b, program),
        _ => {
            return Err(Failure::new("--verify compares a policy with a program")
                .help("give a program as one of both, such as the result of `callgate compile`"));
        }
    };
    let text = policy_text::text_of(policy, conditions)?;
    let answer = ask(&text, &program.to_bytes(policy.endian()))?;
    answer.note();
    match answer.accepts == is_same {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{CHECKER} says the opposite of the comparison by diagrams: {}",
            if is_same { "they are the same" } else { "they differ" }
        ))
        .help(DEFECT)),
    }
}

/// Asks the checker; an error if it does not decide.
fn ask(text: &str, program: &[u8]) -> Result<Answer> {
    let failed =
        |error: io::Error| Failure::new(format!("cannot ask {CHECKER}: {}", error_text(&error)));
    // The child inherits both files.
    let policy = in_memory(text.as_bytes()).map_err(failed)?;
    let program = in_memory(program).map_err(failed)?;
    let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let output = match Command::new(CHECKER).arg(path(&policy)).arg(path(&program)).output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("nothing is verified: {CHECKER} is not in a directory of PATH");
            return Err(Failure::new(message).help(
                "install it: `verified/check` in the sources of callgate builds verified/build/callgate-check; or omit --verify, \
                 which changes nothing about callgate's own proof",
            ));
        }
        Err(error) => return Err(failed(error)),
    };
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let answer = |accepts| Answer { accepts, said: said.lines().next().unwrap_or("").to_owned() };
    match output.status.code() {
        Some(0) => Ok(answer(true)),
        Some(1) => Ok(answer(false)),
        _ => Err(Failure::new(format!("{CHECKER} does not decide: {}", said.trim_end()))
            .help("omit --verify, which changes nothing about callgate's own proof")),
    }
}

/// A file without a name.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("callgate", MemfdFlags::empty())?);
    file.write_all(bytes)?;
    Ok(file)
}

/// The most elements of a list in the text of a theorem, which coqc reads recursively.
const MAX_LIST: usize = 256;

/// The theorem that the program returns what the policy says, for `coqc -Q DIRECTORY Callgate FILE`.
fn theorem(text: &str, program: &[u8]) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| format!("\"{}\"", line.replace('"', "\"\""))).collect();
    let insns: Vec<String> = program
        .chunks(8)
        .map(|insn| insn.iter().map(u8::to_string).collect::<Vec<_>>().join("; "))
        .collect();
    let policy = parts("policy_lines", "string", &lines);
    let program = parts("program", "N", &insns);
    format!(
        "\
(** A program returns what a policy says, for every call. Coq alone checks this, without extracted code:
    verified/check, then coqc -Q verified/build Callgate FILE *)
From Coq Require Import String NArith List.
From Callgate Require Import Spec Text Theorems.
Import ListNotations.
Open Scope string_scope.
Open Scope N_scope.

(** The policy text. *)
{policy}
Definition policy_text : list N := flat_map (fun line => w line ++ [10])%list policy_lines.

(** The program: struct sock_filter, an instruction a line. *)
{program}

Lemma checked : check_bytes policy_text program = Accepted.
Proof. vm_cast_no_check (eq_refl Accepted). Qed.

Theorem program_is_policy : exists p, parse policy_text = inl p /\\
  forall bytes vars, is_bytes bytes -> List.length bytes = 64%nat ->
  kernel_run (byte_order p) program bytes = Some (verdict (input (byte_order p) bytes vars) (meaning p)).
Proof. exact (accepted policy_text program checked). Qed.
Print Assumptions program_is_policy.
"
    )
}

/// Definitions of a list and its parts. `rows` are the elements, one or several each.
fn parts(name: &str, of: &str, rows: &[String]) -> String {
    let mut text = String::new();
    let mut names = Vec::new();
    for (number, part) in rows.chunks(MAX_LIST).enumerate() {
        let _ = writeln!(text, "Definition {name}_{number} : list {of} := [");
        let _ = writeln!(text, "{}].", part.join(";\n"));
        names.push(format!("{name}_{number}"));
    }
    names.push("[]".to_owned());
    let _ = write!(text, "Definition {name} : list {of} := ({})%list.", names.join(" ++ "));
    text
}
