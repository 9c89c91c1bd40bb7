//! Creates an engine for a seccomp filter once: for profilers.
//!
//! ```text
//! cargo build --release -p callgate-vm --example make_engine
//! valgrind --tool=callgrind --toggle-collect='make_engine::counted' \
//!   target/release/examples/make_engine ENGINE PROGRAM.bpf
//! ```
//!
//! The program consists of raw instructions in little-endian byte order. Prints the size of the engine's code and tables.

use std::process::ExitCode;

use callgate_core::{Endian, Program};
use callgate_vm::{EngineKind, SeccompEngine};

fn main() -> ExitCode {
    match run() {
        Ok(bytes) => {
            println!("{bytes}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("make_engine: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<usize, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path] = &arguments[..] else {
        return Err("usage: make_engine ENGINE FILE".to_owned());
    };
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let program =
        Program::from_bytes(&bytes, Endian::Little).map_err(|error| format!("{path}: {error}"))?;
    Ok(counted(kind.parse()?, &program)?.code_bytes())
}

/// What is counted.
#[inline(never)]
fn counted(kind: EngineKind, program: &Program) -> Result<Box<dyn SeccompEngine>, String> {
    kind.seccomp(program, Endian::Little).map_err(|error| error.to_string())
}
