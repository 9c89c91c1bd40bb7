//! Builds the packages of all machines.

use callgate_tasks::Result;

use super::{library, packages};
use crate::release::context::Context;
use crate::release::part::Artefact;

pub(in crate::release) fn build(context: &Context) -> Result<Vec<Artefact>> {
    let mut artefacts = Vec::new();
    for machine in &context.machines {
        let library = library::build(context, *machine)?;
        artefacts.extend(packages::build(context, *machine, &library)?);
    }
    Ok(artefacts)
}
