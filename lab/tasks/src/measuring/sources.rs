//! The filters that are given on the command line: sources, and stacks of them.

use std::path::Path;

use callgate::compile::{Options, compile};
use callgate::optimize::optimize;
use callgate::{Arch, Endian, Program};
use callgate_bpf::asm;
use callgate_core::SocketProgram;
use callgate_core::policy::Policy;
use callgate_measure::Subject;
use callgate_tasks::Result;
use callgate_tasks::files::read;

use super::policy::{built_in_policy, policy};

/// The name of the built-in profile.
const BUILT_IN: &str = "container-default";

/// The byte order of this machine.
pub(super) const ENDIAN: Endian =
    if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

/// A filter and its name.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// The rules of a profile.
    Profile(Policy),
    /// A program as it is installed.
    Program(Program),
}

impl Source {
    /// The built-in profile.
    pub(super) fn built_in() -> Result<Source> {
        Ok(Source { name: BUILT_IN.to_owned(), content: Content::Profile(built_in_policy()?) })
    }

    /// Reads `container-default`, a container profile (`.json`, `.yaml`), instructions as bytes (`.bpf`) or in assembler
    /// (`.asm`).
    pub(super) fn read(name: &str) -> Result<Source> {
        if name == BUILT_IN {
            return Source::built_in();
        }
        let path = Path::new(name);
        let bytes = read(path)?;
        let text = || std::str::from_utf8(&bytes).map_err(|_| format!("{name}: is not UTF-8"));
        let failed = |error: String| format!("{name}: {error}");
        let content = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json" | "yaml" | "yml") => Content::Profile(policy(text()?).map_err(failed)?),
            Some("bpf") => {
                let program = Program::from_bytes(&bytes, ENDIAN);
                Content::Program(program.map_err(|error| failed(error.to_string()))?)
            }
            Some("asm") => {
                let insns = asm::assemble(text()?).map_err(|error| failed(error.to_string()))?;
                Content::Program(Program::new(insns).map_err(|error| failed(error.to_string()))?)
            }
            _ => {
                return Err(failed(
                    "expected a profile (.json, .yaml) or a program (.bpf, .asm); \
                     `callgate compile SOURCE -o filter.bpf` writes programs of other sources"
                        .to_owned(),
                ));
            }
        };
        Ok(Source { name: name.to_owned(), content })
    }

    /// The program: as it is, or Callgate's for a profile.
    pub(super) fn program(&self) -> Result<Program> {
        match &self.content {
            Content::Program(program) => Ok(program.clone()),
            Content::Profile(policy) => {
                let compiled = compile(policy, &Options::default());
                Ok(compiled.map_err(|error| format!("{}: {error}", self.name))?.program.into())
            }
        }
    }

    /// Callgate's program, also for the meaning of a program.
    pub(super) fn optimized(&self) -> Result<Program> {
        let Content::Program(program) = &self.content else { return self.program() };
        let arch = Arch::native().ok_or("unknown architecture")?;
        let optimized = optimize(program, ENDIAN, &[arch], &Options::default());
        let optimized = optimized.map_err(|error| format!("{}: {error}", self.name))?;
        Ok(optimized.program.into())
    }
}

/// Separates the filters of a stack.
const STACKED: char = ',';

/// A filter that is given: a source, or a stack of several, the oldest first.
pub(super) struct Given {
    pub(super) name: String,
    pub(super) sources: Vec<Source>,
}

impl Given {
    /// Reads `a.bpf`, or `a.bpf,b.json` for a stack. A file whose name contains a comma is that file.
    pub(super) fn read(name: &str) -> Result<Given> {
        let sources = match Path::new(name).exists() {
            true => vec![Source::read(name)?],
            false => name.split(STACKED).map(Source::read).collect::<Result<_>>()?,
        };
        Ok(Given { name: name.to_owned(), sources })
    }

    /// The rules, if it is one profile.
    pub(super) fn profile(&self) -> Option<&Policy> {
        match self.sources.as_slice() {
            [Source { content: Content::Profile(policy), .. }] => Some(policy),
            _ => None,
        }
    }

    /// The stack, as it is measured.
    pub(super) fn subject(&self) -> Result<Subject> {
        let programs = self.sources.iter().map(Source::program).collect::<Result<Vec<_>>>()?;
        Subject::new(self.name.clone(), programs).map_err(|error| format!("{}: {error}", self.name))
    }
}

/// A socket filter as a program, as bytes (`.bpf`) or in assembler (`.asm`).
pub(super) fn socket_filter(name: &str) -> Result<Subject> {
    let path = Path::new(name);
    let bytes = read(path)?;
    let failed = |error: String| format!("{name}: {error}");
    let program = match path.extension().and_then(|ending| ending.to_str()) {
        Some("bpf") => SocketProgram::from_bytes(&bytes, ENDIAN),
        Some("asm") => {
            let text =
                std::str::from_utf8(&bytes).map_err(|_| failed("is not UTF-8".to_owned()))?;
            let insns = asm::assemble(text).map_err(|error| failed(error.to_string()))?;
            SocketProgram::new(insns)
        }
        _ => return Err(failed("expected a socket filter as a program (.bpf, .asm)".to_owned())),
    };
    let program = program.map_err(|error| failed(error.to_string()))?;
    Ok(Subject::packets(name, Some(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(name: &str, text: &str) -> Result<Source> {
        let directory =
            std::env::temp_dir().join(format!("callgate-sources-{}", std::process::id()));
        callgate_tasks::files::make(&directory)?;
        let path = directory.join(name);
        callgate_tasks::files::write(&path, text)?;
        let source = Source::read(&path.to_string_lossy());
        callgate_tasks::files::remove(&directory)?;
        source
    }

    #[test]
    fn the_ending_says_what_a_source_is() {
        assert!(matches!(Source::read("container-default").unwrap().content, Content::Profile(_)));
        let profile = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}]}"#;
        assert!(matches!(written("p.json", profile).unwrap().content, Content::Profile(_)));
        let Content::Program(program) = written("a.asm", "ret #0x7fff0000\n").unwrap().content
        else {
            panic!("is a program");
        };
        assert_eq!(program.len(), 1);
        for (name, text, why) in [
            ("p.json", "{", "p.json: "),
            ("a.asm", "rat", "a.asm: "),
            ("a.bpf", "123", "a.bpf: "),
            ("a.kafel", "POLICY a {}", "callgate compile"),
        ] {
            let error = written(name, text).err().unwrap();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}
