//! Socket filters in the forms of programs.

use callgate_bpf::disasm::disassemble_socket;
use callgate_requests::json::Json;

use super::{Emit, EmitOptions, Figures, rows_of};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::SocketFilter;

impl EmitOptions {
    /// Writes a socket filter and its figures as the options say.
    pub(crate) fn deliver_socket(&self, filter: &SocketFilter, figures: &Figures) -> Result<u8> {
        let SocketFilter { name, program, endian } = filter;
        let (emit, _) = self.form();
        self.warn_about_format(emit);
        self.check_socket(emit)?;
        let figures_text = self.figures_text(figures);
        if self.prints_figures_only() {
            output::print(&figures_text)?;
            return Ok(0);
        }
        let text = match (emit.dialect(), emit) {
            (Some(dialect), _) => Some(disassemble_socket(program, dialect)),
            (None, Emit::Json) => {
                let mut fields = vec![("source", name.as_str().into())];
                fields.extend(figures.json.clone());
                fields.push(("program", rows_of(program.to_raw())));
                Some(format!("{}\n", Json::Object(fields)))
            }
            (None, _) => None,
        };
        self.write(text.as_deref(), || program.to_bytes(*endian), &figures_text)
    }

    /// Refuses what is for seccomp filters.
    fn check_socket(&self, emit: Emit) -> Result<()> {
        let what = match emit {
            Emit::Crun => "--emit crun",
            _ if self.installer => "--installer",
            _ if self.name.is_some() => "--name",
            _ if self.package.is_some() => "--package",
            _ => return Ok(()),
        };
        Err(Failure::new(format!("{what} is for seccomp filters, and this is a socket filter"))
            .help("omit it; --emit c, rust and go write an array for SO_ATTACH_FILTER"))
    }
}
