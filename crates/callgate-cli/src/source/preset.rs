//! Presets as sources: `preset:NAME`.

use callgate_formats::{PRESETS, abis, preset};

use super::filter::{Filter, FilterContent, Rules};
use super::format::PRESET;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};
use crate::text::did_you_mean;

/// The name of a preset that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PresetSource(&'static str);

impl PresetSource {
    /// Parses what follows `preset:`.
    pub(super) fn parse(name: &str) -> Result<PresetSource> {
        let known = PRESETS.into_iter().find(|known| *known == name);
        known.map(PresetSource).ok_or_else(|| {
            Failure::new(format!("unknown preset \"{name}\"")).help(format!(
                "the presets are {}{}",
                PRESETS.join(", "),
                did_you_mean(name, &PRESETS)
            ))
        })
    }

    /// The name in messages.
    pub(super) fn name(&self) -> String {
        format!("{PRESET}:{}", self.0)
    }

    /// The filter, for the architectures of --arch, or else for all ABIs of this machine.
    pub(super) fn read(&self, options: &SourceOptions) -> Result<Filter> {
        let arches = match options.arch.as_slice() {
            [] => abis(options.machine()?),
            given => given.to_vec(),
        };
        options.warn_about_containers(&self.name(), "a preset", false);
        let policy = preset(self.0, &arches).ok_or_else(|| {
            Failure::about(self.name(), "no kernel runs these architectures together")
                .help("give --arch once, and compile a filter for each architecture")
        })?;
        let rules = Rules::new(policy, arches);
        Ok(Filter::new(self.name(), FilterContent::Profile(Box::new(rules))))
    }
}

/// Whether a text names a preset that denies what it does not name; the others are denylists, which only restrict.
pub(super) fn is_allowlist(text: &str) -> bool {
    text.strip_prefix(PRESET) == Some(":pure-compute")
}
