//! Runs minijail's compiler.

use std::path::Path;
use std::process::Command;

use callgate::Endian;
use callgate_core::LongProgram;

use callgate_tasks::Result;

/// What the compiler makes of a policy: a program, or its last message.
pub(crate) fn compile(
    compiler: &Path,
    constants: &Path,
    policy: &Path,
    is_denylist: bool,
) -> Result<std::result::Result<LongProgram, String>> {
    let script = compiler.join("tools/compile_seccomp_policy.py");
    let program = policy.with_extension("bpf");
    let output = Command::new("python3")
        .arg("-B")
        .arg(script)
        .arg("--arch-json")
        .arg(constants)
        .args(is_denylist.then_some("--denylist"))
        .args([policy, &program])
        .output()
        .map_err(|error| format!("python3: {error}"))?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_message = |line: &&str| line.contains("Exception") || line.contains("Error");
        let message = messages.lines().rfind(is_message).or(messages.lines().last());
        return match (output.status.code(), message) {
            (Some(_), Some(message)) => Ok(Err(message.to_owned())),
            _ => Err(format!("python3: {}: {messages}", output.status)),
        };
    }
    let bytes =
        std::fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    match LongProgram::from_bytes(&bytes, Endian::Little) {
        Ok(program) => Ok(Ok(program)),
        // The kernel would not accept it, so the policy is refused at last.
        Err(error) => Ok(Err(format!("its program is not valid: {error}"))),
    }
}
