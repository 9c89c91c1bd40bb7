//! Options that choose whose records of a log count.

use callgate_record::Cgroup;
use callgate_trace::{Selected, Selection};

use crate::report::{Failure, Result};

/// Whose records of a log count.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SelectionOptions {
    /// Of logs, take only what is of a program (its name, its path, or the last part of it), or of pid:N, unit:NAME or
    /// container:ID; may be repeated. Audit records name no unit and no container: the processes that these have now
    /// count, and all in the journal as JSON
    #[arg(long, value_name = "PROGRAM", value_parser = Selected::parse)]
    pub(crate) program: Vec<Selected>,
}

impl SelectionOptions {
    /// Refuses a selection where no log is read.
    pub(crate) fn only_of_logs(&self) -> Result<()> {
        match self.program.first() {
            None => Ok(()),
            Some(one) => Err(Failure::new(format!("--program {one} selects records of a log"))
                .help("give a log with --from, or omit --program")),
        }
    }

    /// The records that count; those of units and containers also by the processes that are in them now.
    pub(crate) fn selection(&self) -> Selection {
        let of_group = |one: &Selected| match one {
            Selected::Unit(name) => Cgroup::of_unit(name).ok(),
            Selected::Container(id) => Cgroup::of_container(id, id).ok(),
            Selected::Program(_) | Selected::Process(_) => None,
        };
        let groups = self.program.iter().filter_map(of_group);
        let processes = groups.flat_map(|group| group.processes().unwrap_or_default());
        Selection::new(self.program.clone()).with_processes(processes)
    }
}
