//! From a source to its program in one step.

use std::fmt;

use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::{KernelVersion, facts, known_names};
use callgate_core::template::Template;
use callgate_formats::languages::Reading;

use super::filter::Content as FilterContent;
use super::message::{Message, Messages};
use super::read::read;
use super::stack::SourceStack;
use super::text::{Content, SourceText};
use super::wording::Wording;
use crate::compile::{self, Options};
use crate::{Arch, Proved};

/// Compiles a policy or a program as text with the defaults: for the architecture of this process, and the newest kernel that
/// the tables know, where a profile has conditions on it. The content decides which language it is.
///
/// ```
/// let compiled = callgate::source::compile("ALLOW { read, write, exit_group } DEFAULT ERRNO(1)")?;
/// assert!(compiled.program.len() > 3 && compiled.warnings.is_empty());
///
/// let error = callgate::source::compile("ALLOW {\n  wriet\n} DEFAULT ERRNO(1)").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "source:2:3: error: unknown syscall `wriet`\n  help: did you mean `write`?"
/// );
/// let position = error.messages()[0].diagnostic.position.ok_or("no position")?;
/// assert_eq!((position.line, position.column), (2, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`SourceText`] has the choices: a name for messages, another machine or kernel, files that a policy includes, values of
/// variables.
///
/// # Errors
/// All messages about the source, errors and warnings.
pub fn compile(text: &str) -> Result<CompiledSource, SourceError> {
    SourceText::for_this_machine(text)?.compile()
}

/// What a source was compiled to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompiledSource<P = Proved> {
    /// The program, proved equal to the source; or a [`Template`], proved for all values of its variables.
    pub program: P,
    /// The architectures of the filter.
    pub arches: Vec<Arch>,
    /// The flags with which the source wants to be installed.
    pub flags: FilterFlags,
    /// Warnings about the source.
    pub warnings: Messages,
}

impl<P> CompiledSource<P> {
    fn of(stack: &SourceStack, program: P, warnings: Messages) -> CompiledSource<P> {
        CompiledSource { program, arches: stack.arches(), flags: stack.flags(), warnings }
    }
}

impl SourceText {
    /// A text for the architecture of this process, and the newest kernel that the tables know.
    ///
    /// # Errors
    /// On a machine whose syscalls are unknown.
    pub fn for_this_machine(text: impl Into<String>) -> Result<SourceText, SourceError> {
        let machine = Arch::native().ok_or_else(|| {
            let name = std::env::consts::ARCH;
            let error = Diagnostic::error(
                None,
                format!("the syscalls of this machine are unknown: {name}"),
            );
            SourceError(vec![Message::of_request(error.help("give the machine: SourceText::new"))])
        })?;
        let mut reading = Reading::new(machine);
        reading.kernel = newest_kernel();
        let source = SourceText::new(Content::Text(text.into()), reading);
        Ok(SourceText { wording: Wording::LIBRARY, ..source })
    }

    /// The same source with this name, which messages begin with. Its extension helps to recognize the language.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> SourceText {
        self.name = name.into();
        self
    }

    /// Compiles it.
    ///
    /// # Errors
    /// All messages about the source, errors and warnings.
    pub fn compile(&self) -> Result<CompiledSource, SourceError> {
        let mut warnings = Messages::new();
        let compiled = read(self, &mut warnings).and_then(|stack| {
            let options = options(&stack);
            let compiled = stack.compile(&options)?;
            Ok((stack, compiled.program))
        });
        match compiled {
            Ok((stack, program)) => Ok(CompiledSource::of(&stack, program, warnings)),
            Err(errors) => Err(SourceError::of(warnings, errors)),
        }
    }

    /// Compiles a policy whose variables get their values when the filter is installed.
    ///
    /// ```
    /// use callgate::source::SourceText;
    /// use callgate::values_by_name;
    ///
    /// let text = "ALLOW { write { fd == $log }, exit_group } DEFAULT KILL_PROCESS";
    /// let template = SourceText::for_this_machine(text)?.named("worker.kafel").compile_template()?.program;
    /// let values = values_by_name(template.variables(), [("log", 7)])?;
    /// let program = template.instantiate(&values)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`compile`](SourceText::compile); if the source is not one policy.
    pub fn compile_template(&self) -> Result<CompiledSource<Proved<Template>>, SourceError> {
        let mut warnings = Messages::new();
        let compiled = read(self, &mut warnings).and_then(|stack| {
            let [filter] = stack.filters.as_slice() else { return Err(no_policy(&stack.name)) };
            let FilterContent::Policy(policy) = &filter.content else {
                return Err(no_policy(&filter.name));
            };
            let compiled = compile::compile_template(policy, &options(&stack))
                .map_err(|error| filter.failed(&error))?;
            let uncached = Message::all(&filter.name, compiled.cache_warning().as_slice());
            Ok((stack, compiled.template, uncached))
        });
        match compiled {
            Ok((stack, template, uncached)) => {
                warnings.extend(uncached);
                Ok(CompiledSource::of(&stack, template, warnings))
            }
            Err(errors) => Err(SourceError::of(warnings, errors)),
        }
    }
}

fn no_policy(name: &str) -> Messages {
    Message::error(name, "only a single policy has variables", "compile it without them")
}

/// The default options, with what a single source says about frequencies.
fn options(stack: &SourceStack) -> Options {
    let weights = match stack.filters.as_slice() {
        [only] => only.weights.clone().unwrap_or_default(),
        _ => Default::default(),
    };
    Options { weights, ..Options::default() }
}

/// The newest kernel of which the tables know a syscall.
fn newest_kernel() -> Option<KernelVersion> {
    known_names().filter_map(|name| facts(name)?.introduced).max()
}

/// Why a source was not compiled: all messages, errors and warnings, in the order of the text.
///
/// `Display` and `Debug` have a line for each, and its advice in the next one.
#[derive(Clone)]
pub struct SourceError(Messages);

impl SourceError {
    fn of(mut warnings: Messages, errors: Messages) -> SourceError {
        warnings.extend(errors);
        SourceError(warnings)
    }

    /// The messages, each with its source, position and advice. At least one is an error.
    pub fn messages(&self) -> &[Message] {
        &self.0
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, message) in self.0.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            message.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SourceError {}

// WebAssembly has no syscalls, and so no machine.
#[cfg(all(test, not(target_family = "wasm")))]
mod tests {
    use super::*;
    use crate::SyscallTable;
    use crate::source::SourceFormat;

    #[test]
    fn help_is_in_the_words_of_the_library() {
        let text = "ALLOW { read { fd == $in } } DEFAULT KILL";
        let error = compile(text).unwrap_err().to_string();
        assert!(error.contains("use `SourceText::compile_template`"), "{error}");
        let source = SourceText::for_this_machine("").unwrap().named("empty.json");
        let error = source.compile_template().unwrap_err();
        assert_eq!(error.messages().len(), 1, "{error}");
        assert!(error.to_string().starts_with("empty.json: error: the input is empty"), "{error}");
    }

    #[test]
    fn the_name_of_a_file_is_not_a_text() {
        for name in ["sandbox.kafel", "policies/web\n", "./docker.json", "/etc/x.yaml", "a.service"]
        {
            let source = SourceText::for_this_machine(name).unwrap();
            let given = SourceText { format: SourceFormat::from_name("kafel"), ..source.clone() };
            for error in [source.compile(), given.compile()].map(Result::unwrap_err) {
                let text = error.to_string();
                let message = format!(
                    "source: error: expected the text of a filter, but this is the name of a file: {}\n  help: ",
                    name.trim()
                );
                assert!(text.starts_with(&message) && text.contains("read_to_string"), "{text}");
            }
        }
        for text in
            ["//", "retrun", "read.txt", "a.kafel b.kafel", "ret ALOW/2", "{\"a/b\":1}", "raed:1"]
        {
            let error = compile(text).unwrap_err().to_string();
            assert!(!error.contains("name of a file"), "{text}: {error}");
        }
    }

    #[test]
    fn conditions_on_the_kernel_hold_for_the_newest() {
        let newest = newest_kernel().unwrap();
        assert!(newest >= KernelVersion { major: 6, minor: 18 }, "{newest}");
        let profile = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["ptrace"],
            "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}}]}"#;
        let compiled = compile(profile).unwrap();
        let number = compiled.arches[0].number("ptrace").unwrap();
        let data = crate::SeccompData {
            nr: number,
            arch: compiled.arches[0].token(),
            ..Default::default()
        };
        let endian = compiled.arches[0].endian();
        assert_eq!(compiled.program.run(&data, endian).verdict, crate::Verdict::ALLOW);
    }

    #[test]
    fn only_a_policy_has_variables() {
        let program = SourceText::for_this_machine("ld [0]\nret ALLOW").unwrap();
        let error = program.compile_template().unwrap_err().to_string();
        assert!(error.contains("only a single policy has variables"), "{error}");
    }
}
