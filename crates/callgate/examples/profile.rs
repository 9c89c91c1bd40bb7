//! Compile a container profile, and show its warnings and its program.
//!
//!     cargo run -p callgate --example profile

use callgate::{Arch, Filter, Options, Result};
use callgate_bpf::disasm::{Dialect, ListingOptions, disassemble};
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::oci::{self, ReadOptions};

const PROFILE: &str = r#"{
    "defaultAction": "SCMP_ACT_ERRNO",
    "syscalls": [
        {"names": ["read", "write", "close", "exit_group", "raed"], "action": "SCMP_ACT_ALLOW"},
        {
            "names": ["personality"],
            "action": "SCMP_ACT_ALLOW",
            "args": [{"index": 0, "op": "SCMP_CMP_EQ", "value": 0}]
        }
    ]
}"#;

fn main() -> Result<()> {
    // The machine that the filter is for; a profile can depend on both.
    let options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 12 });
    let profile = oci::read(PROFILE, &options)?;
    for warning in &profile.warnings {
        println!("warning: {warning}");
    }

    let compiled = Filter::from(profile.policy).compile_with(&Options::default())?;
    let listing = disassemble(&compiled.program, Dialect::Annotated, &ListingOptions::default());
    print!("{listing}");
    println!("syscalls that the kernel's cache allows: {}", compiled.stats.constant_allow);
    Ok(())
}
