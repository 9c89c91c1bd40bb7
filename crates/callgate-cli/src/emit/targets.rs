//! Source code with a program for each of several targets.

use callgate::emit::{TargetProgram, source_for_targets};
use callgate_bpf::FilterFlags;

use super::EmitOptions;
use super::errors::not_emitted;
use crate::options::Format;
use crate::output;
use crate::report::{Failure, Result};

impl EmitOptions {
    /// Writes one file of source code with these programs.
    pub(crate) fn deliver_targets(
        &self,
        programs: &[TargetProgram<'_>],
        flags: FilterFlags,
    ) -> Result<u8> {
        let Some(language) = self.emit.and_then(super::Emit::language) else {
            return Err(Failure::new("--target is for source code")
                .help("add --emit c, --emit rust or --emit go"));
        };
        if self.stats || self.format != Format::Text {
            return Err(Failure::new("--target has no statistics")
                .help("omit --stats and --format, or compile for one --arch"));
        }
        let endian = programs.first().map_or_else(Default::default, |one| one.target.endian());
        let options = self.source_options(language, (endian, &[], flags));
        let text = source_for_targets(programs, &options).map_err(|error| not_emitted(&error))?;
        match self.output.as_deref().filter(|path| path.as_os_str() != "-") {
            Some(path) => output::write_file(path, text.as_bytes())?,
            None => output::print(&text)?,
        }
        Ok(0)
    }
}
