//! The filters of file tests.

use std::path::Path;

use callgate_core::LongProgram;
use callgate_testing::filetest::{FileTest, Filter};

use super::subject::Subject;
use callgate_tasks::Result;

/// The filter of a file test; `None` if it cannot be read, which some of them show.
pub(crate) fn read(path: &Path) -> Result<Option<Subject>> {
    let name = path.display().to_string();
    match FileTest::read(path).filter() {
        Filter::Policy(policy) => Ok(Some(Subject::policy(name, policy))),
        Filter::Program(insns, endian) => {
            let program = LongProgram::from_raw(&insns);
            let program = program.map_err(|error| format!("{name}: {error}"))?;
            Ok(Some(Subject::program(name, program, endian)))
        }
        Filter::Refused(_) => Ok(None),
    }
}
