//! Builds wheels and the source distribution.

use std::fs;

use callgate_tasks::Result;
use callgate_tasks::files::{make, remove, write};

use super::super::context::{Context, execute};
use super::super::notices::{THIRD_PARTY, notices};
use super::super::part::Artefact;
use super::super::toolchain::add_target;
use super::tools::Tools;
use super::wheel::Wheel;
use crate::paths::remap;

/// Builds all of them.
pub(in crate::release) fn build(context: &Context) -> Result<Vec<Artefact>> {
    // On top of an earlier build, the native library had other bytes.
    remove(&context.work.join("python"))?;
    let output = context.output.join("python");
    make(&output)?;
    let tools = Tools::new(context)?;
    // pyproject.toml takes it to the licences of the wheel. It is not in the tree, where it would be for one target.
    let third_party = context.root.join("bindings/python").join(THIRD_PARTY);
    let mut artefacts = Vec::new();
    for wheel in Wheel::all(context) {
        add_target(&wheel.target())?;
        let mut maturin = tools.command(context, "maturin");
        maturin.args(["build", "--quiet", "--locked", "--zig", "--auditwheel", "check"]);
        maturin.args(["--target", &wheel.target(), "--compatibility", wheel.compatibility()]);
        maturin.args(["--manifest-path", "bindings/python/Cargo.toml", "--out"]).arg(&output);
        maturin.env("CARGO_TARGET_DIR", context.work.join("python"));
        // maturin has to know the flags, because it adds to them.
        maturin.env("CARGO_ENCODED_RUSTFLAGS", remap(&context.root)?.join("\u{1f}"));
        write(&third_party, notices(context, "bindings/python", &wheel.target())?)?;
        let built = execute(&mut maturin);
        let removed = fs::remove_file(&third_party);
        built?;
        removed.map_err(|error| format!("{}: {error}", third_party.display()))?;
        artefacts.push(Artefact {
            path: context.relative(&wheel.path(context))?,
            what: wheel.what().to_owned(),
            machine: Some(wheel.machine),
        });
    }
    let mut sdist = tools.command(context, "maturin");
    sdist.args(["sdist", "--manifest-path", "bindings/python/Cargo.toml", "--out"]);
    execute(sdist.arg(&output))?;
    artefacts.push(Artefact {
        path: format!("python/callgate-{}.tar.gz", context.version),
        what: "source distribution, for other machines".to_owned(),
        machine: None,
    });
    Ok(artefacts)
}
