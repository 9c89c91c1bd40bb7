//! Runs the other compiler.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use callgate::Endian;
use callgate_bpf::text;
use callgate_core::LongProgram;

use callgate_tasks::Result;

/// What the other compiler makes of a policy: a program, or its messages.
pub(crate) fn compile(
    compiler: &Path,
    policy: &str,
    endian: Endian,
) -> Result<std::result::Result<LongProgram, String>> {
    let fail = |error: std::io::Error| format!("{}: {error}", compiler.display());
    let mut child = Command::new(compiler)
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fail)?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let policy = policy.to_owned();
    // The program may answer before it has read everything, which is not an error.
    let writer = std::thread::spawn(move || drop(stdin.write_all(policy.as_bytes())));
    let output = child.wait_with_output().map_err(fail)?;
    writer.join().map_err(|_| "the writer failed")?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        return match output.status.code() {
            Some(_) => Ok(Err(messages)),
            None => Err(format!("{}: {}: {messages}", compiler.display(), output.status)),
        };
    }
    // Our reader of C rows knows the macros of the kernel, not sizes of types.
    let listing = String::from_utf8_lossy(&output.stdout).replace("sizeof(__u32)", "4");
    let insns = text::parse(&listing, endian)
        .map_err(|error| format!("{}: its program is not readable: {error}", compiler.display()))?;
    let program = LongProgram::from_raw(&insns)
        .map_err(|error| format!("{}: its program is not valid: {error}", compiler.display()))?;
    Ok(Ok(program))
}
