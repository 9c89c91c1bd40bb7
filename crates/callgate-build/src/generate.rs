//! From a policy to source code.

use crate::files::Files;
use crate::format::Format;
use crate::message::{Error, Message};
use crate::policy::Policy;
use crate::read::{not_compiled, not_emitted, read, read_weights};
use callgate::compile::{Options, compile_template};
use callgate::emit::{SourceLanguage, SourceOptions, source, target_condition, template_source};
use callgate::source::SourceFilter;
use callgate::{Arch, needs_listener};
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_codegen::Weights;
use callgate_core::template::Variable;
use std::path::{Path, PathBuf};

/// The predicate for `#[cfg(…)]` that holds for the targets of an architecture.
#[must_use]
pub fn rust_condition(arch: Arch) -> Option<String> {
    target_condition(SourceLanguage::Rust, arch)
}

/// Source code in Rust, and where it comes from.
#[derive(Clone, Debug)]
pub struct Generated {
    source: String,
    files: Vec<PathBuf>,
    warnings: Vec<Message>,
}

/// Source code of one filter.
pub(crate) struct Code {
    pub(crate) source: String,
    /// The parameters of its functions, in their order.
    pub(crate) variables: Vec<Variable>,
    /// Whether it notifies a listener, so that its functions have other names.
    pub(crate) listens: bool,
}

impl Generated {
    pub(crate) fn new(source: String, files: Vec<PathBuf>, warnings: Vec<Message>) -> Generated {
        Generated { source, files, warnings }
    }

    /// The source code: items for a module.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The files that were read: the policy, those that it includes, and the weights.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Warnings about the policy.
    #[must_use]
    pub fn warnings(&self) -> &[Message] {
        &self.warnings
    }
}

impl Policy {
    /// Compiles the policy to source code for a target.
    ///
    /// # Errors
    /// If a file cannot be read, the policy has errors, the target is not among its architectures, or it cannot be compiled.
    pub fn generate(&self, target: Arch) -> Result<Generated, Error> {
        let mut files = Files::new(&self.directory, &self.path);
        match self.generate_from(target, &mut files) {
            Ok((Code { source, .. }, warnings)) => {
                Ok(Generated { source, files: files.into_paths(), warnings })
            }
            Err(error) => Err(error.with_files(files.into_paths())),
        }
    }

    /// The source code and the warnings.
    pub(crate) fn generate_from(
        &self,
        target: Arch,
        files: &mut Files<'_>,
    ) -> Result<(Code, Vec<Message>), Error> {
        let shown = self.shown();
        let name = self.own_name();
        let arches = self.arches_for(target)?;
        let text = files.read(&self.path).map_err(|why| Error::about(&shown, why, ""))?;
        let format = self.format.or_else(|| Format::of(&self.path, &text)).ok_or_else(|| {
            let names: Vec<&str> = Format::names().collect();
            let help = format!(
                "name the file .kafel, .policy, .json or .yaml, or give a format: {}",
                names.join(", ")
            );
            Error::about(&shown, "the extension does not tell the format of the policy", &help)
        })?;
        let failed = |errors: Diagnostics| Error::of(messages(&shown, &text, errors.into_vec()));
        let (filter, own) = read(self, format, &text, &arches, files).map_err(failed)?;
        let mut warnings = messages(&shown, &text, own);
        let weights = match &self.weights {
            Some(path) => self.read_weights(path, &arches, files, &mut warnings)?,
            None => filter.weights.clone().unwrap_or_default(),
        };
        let options =
            Options { aim: self.aim, weights, expected_insns: false, ..Options::default() };
        let (code, warning) =
            self.compile_filter(&filter, &options, &name).map_err(|error| failed(error.into()))?;
        warnings.extend(messages(&shown, &text, Vec::from_iter(warning)));
        Ok((code, warnings))
    }

    /// The architectures of the filter.
    fn arches_for(&self, target: Arch) -> Result<Vec<Arch>, Error> {
        if self.arches.is_empty() {
            return Ok(vec![target]);
        }
        if !self.arches.contains(&target) {
            let names: Vec<&str> = self.arches.iter().map(|arch| arch.name()).collect();
            let message =
                format!("the filter is for {}, but the program for {target}", names.join(", "));
            return Err(Error::about(
                &self.shown(),
                message,
                &format!("add {target} to the architectures"),
            ));
        }
        Ok(self.arches.clone())
    }

    fn read_weights(
        &self,
        path: &Path,
        arches: &[Arch],
        files: &mut Files<'_>,
        warnings: &mut Vec<Message>,
    ) -> Result<Weights, Error> {
        let shown = path.display().to_string();
        let text = files.read(path).map_err(|why| Error::about(&shown, why, ""))?;
        let (weights, own) = read_weights(&text, arches, self.strict)
            .map_err(|errors| Error::of(messages(&shown, &text, errors.into_vec())))?;
        warnings.extend(messages(&shown, &text, own));
        Ok(weights)
    }

    /// The source code of a policy that was read, and a warning about the program.
    fn compile_filter(
        &self,
        filter: &SourceFilter,
        options: &Options,
        name: &str,
    ) -> Result<(Code, Option<Diagnostic>), Diagnostic> {
        let arches = match filter.policy() {
            Some(policy) => policy.arches().collect(),
            None => filter.arches.clone(),
        };
        let form = SourceOptions {
            name: Some(name.to_owned()),
            installer: self.installer,
            flags: filter.flags,
            endian: filter.endian(),
            arches,
            ..SourceOptions::new(SourceLanguage::Rust)
        };
        let Some(policy) = filter.policy().filter(|_| filter.has_variables()) else {
            let compiled = filter.compile_observed(options, &mut |_| ());
            let compiled = compiled.map_err(|error| not_compiled(&error))?;
            let source = source(&compiled.program, &form).map_err(|error| not_emitted(&error))?;
            let listens = needs_listener(compiled.program.insns());
            return Ok((Code { source, variables: Vec::new(), listens }, None));
        };
        let compiled = compile_template(policy, options).map_err(|error| not_compiled(&error))?;
        let source =
            template_source(&compiled.template, &form).map_err(|error| not_emitted(&error))?;
        let listens = needs_listener(compiled.template.program().insns());
        let variables = compiled.template.variables().to_vec();
        Ok((Code { source, variables, listens }, compiled.cache_warning()))
    }
}

/// Messages about a file with this text.
fn messages(file: &str, text: &str, diagnostics: Vec<Diagnostic>) -> Vec<Message> {
    diagnostics.into_iter().map(|one| Message::about(file, text, one)).collect()
}
