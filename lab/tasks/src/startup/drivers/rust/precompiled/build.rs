//! Compiles the JSON file to a file of instructions while the program is built.

// counted: build
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=policy.json");
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH")?.as_str().try_into()?;
    let programs = seccompiler::compile_from_json(std::fs::File::open("policy.json")?, arch)?;
    let words = |program: Vec<seccompiler::sock_filter>| {
        let fields = program.into_iter().map(|insn| (insn.code, insn.jt, insn.jf, insn.k));
        fields.collect::<Vec<_>>()
    };
    let programs: BTreeMap<_, _> =
        programs.into_iter().map(|(name, program)| (name, words(program))).collect();
    let mut file = std::fs::File::create(format!("{}/filters.bpf", std::env::var("OUT_DIR")?))?;
    bincode::encode_into_std_write(&programs, &mut file, bincode::config::standard())?;
    Ok(())
}
// counted: end
