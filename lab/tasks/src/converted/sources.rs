//! The filters that are converted.

use std::path::Path;

use callgate::{Arch, Description, Endian};
use callgate_core::LongProgram;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::Policy;
use callgate_formats::{container_default, oci};
use callgate_testing::filetest::{FileTest, Filter};
use callgate_testing::languages::KERNEL;
use callgate_testing::random::{named_policies, samples};

use super::options::Options;
use callgate_tasks::files::{files, read, stem};
use callgate_tasks::{Result, workspace};

/// A filter with its name.
pub(super) struct Source {
    pub(super) name: String,
    filter: Form,
}

enum Form {
    Policy(Policy),
    Program(LongProgram),
}

impl Source {
    pub(super) fn description(&self) -> Description<'_> {
        match &self.filter {
            Form::Policy(policy) => Description::policy(policy),
            Form::Program(program) => Description::program(program, Endian::Little),
        }
    }

    pub(super) fn diagram(&self, store: &mut Store) -> std::result::Result<Func, DiagramError> {
        match &self.filter {
            Form::Policy(policy) => store.policy(policy),
            Form::Program(program) => store.program(program, Endian::Little),
        }
    }
}

/// All filters for the architectures of a language, the first of which is x86_64.
pub(super) fn all(options: &Options, arches: &[Arch]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut add = |name: String, filter| sources.push(Source { name, filter });
    let reading =
        oci::ReadOptions { arches: arches.to_vec(), ..oci::ReadOptions::new(Arch::X86_64, KERNEL) };
    let profile = container_default(&reading).map_err(|error| error.to_string())?;
    add("container-default".to_owned(), Form::Policy(profile.policy));
    for path in &options.files {
        let bytes = read(path)?;
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let filter = match path.extension().is_some_and(|extension| extension == "bpf") {
            true => {
                let program = LongProgram::from_bytes(&bytes, Endian::Little);
                Form::Program(program.map_err(|error| fail(&error))?)
            }
            false => {
                let profile = oci::read(&String::from_utf8_lossy(&bytes), &reading);
                Form::Policy(profile.map_err(|error| fail(&error))?.policy)
            }
        };
        add(stem(path), filter);
    }
    let tests = workspace().join("crates/callgate/tests/filetests");
    for directory in directories(&tests)? {
        for path in files(&directory, "txt")? {
            match FileTest::read(&path).filter() {
                Filter::Policy(policy) if policy.endian() == Endian::Little => {
                    add(stem(&path), Form::Policy(policy));
                }
                Filter::Program(insns, Endian::Little) => {
                    let program = LongProgram::from_raw(&insns);
                    let program =
                        program.map_err(|error| format!("{}: {error}", path.display()))?;
                    add(stem(&path), Form::Program(program));
                }
                _ => {}
            }
        }
    }
    // The families of x86-64 are a part of all; those of other machines have no compiler here.
    let is_local = |policy: &Policy| policy.arches().next() == Some(Arch::X86_64);
    let random = samples(&named_policies(6), options.seed, 6 * options.random);
    for policy in random.into_iter().filter(is_local).take(options.random) {
        add("random policy".to_owned(), Form::Policy(policy));
    }
    Ok(sources)
}

fn directories(path: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries =
        std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    Ok(found)
}
