//! The filters of file tests, as `crates/callgate/tests/filetests.rs` reads them.

use std::path::Path;

use callgate::bpf::{LongProgram, text};
use callgate::frontend::oci::{self, Dialect, EnosysAbove};
use callgate::{Arch, Endian};

use super::Subject;
use crate::Result;
use crate::files;

#[path = "../../../crates/callgate/tests/common/rules.rs"]
mod rules;

/// The filter on top of a file test; `None` where the test shows that a profile is refused.
pub(crate) fn read(path: &Path) -> Result<Option<Subject>> {
    let name = path.display().to_string();
    let content = String::from_utf8_lossy(&files::read(path)?).into_owned();
    let mut parts = content.split("\n--- ");
    let head = parts.next().unwrap_or_default();
    let (form, source) = parts
        .next()
        .and_then(|part| part.split_once('\n'))
        .ok_or_else(|| format!("{name}: missing part: profile, rules or program"))?;
    let setting = |key: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.rfind(|(name, _)| *name == key).map(|(_, value)| value.trim())
    };
    let unknown = |key: &str| format!("{name}: unknown value of {key}");
    let arches = setting("arches").unwrap_or("x86_64").split_whitespace();
    let arches: Option<Vec<Arch>> = arches.map(Arch::from_name).collect();
    let arches = arches.ok_or_else(|| unknown("arches"))?;
    match form {
        "rules" => Ok(Some(Subject::policy(name, rules::policy(source, &arches)))),
        "program" => {
            let endian = match setting("endian") {
                Some("big") => Endian::Big,
                _ => Endian::Little,
            };
            let raw = text::parse(source, endian).map_err(|error| format!("{name}: {error}"))?;
            let program =
                LongProgram::from_raw(&raw).map_err(|error| format!("{name}: {error}"))?;
            Ok(Some(Subject::program(name, program, endian)))
        }
        "profile" => {
            let kernel = setting("kernel").unwrap_or("6.18").parse();
            let mut options =
                oci::ReadOptions::new(Arch::X86_64, kernel.map_err(|_| unknown("kernel"))?);
            if setting("arches").is_some() {
                options.arches = arches;
            }
            options.dialect = setting("dialect").and_then(Dialect::from_name);
            let caps = setting("caps").unwrap_or("none").parse();
            options.caps = caps.map_err(|_| unknown("caps"))?;
            let on = setting("enosys-above") == Some("on");
            options.enosys_above = Some(if on { EnosysAbove::On } else { EnosysAbove::Off });
            Ok(oci::read(source, &options)
                .ok()
                .map(|profile| Subject::policy(name, profile.policy)))
        }
        _ => Err(format!("{name}: unknown part {form:?}")),
    }
}
