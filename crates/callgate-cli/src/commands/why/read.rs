//! A source with its filters.

use std::cell::OnceCell;

use callgate_core::diagram::{Func, Store};

use crate::options::{PROMPT, SourceOptions};
use crate::report::{Failure, Result, muted};
use crate::source::{Combine, LoadedSource, SourceStack};

/// A source with its filters, and their MTBDD.
pub(crate) struct Read {
    pub(crate) source: LoadedSource,
    pub(crate) stack: SourceStack,
    diagram: OnceCell<std::result::Result<(Store, Func), String>>,
}

impl Read {
    pub(crate) fn new(source: LoadedSource, options: &SourceOptions) -> Result<Read> {
        let stack = source.read(options)?;
        Ok(Read { source, stack, diagram: OnceCell::new() })
    }

    /// The source with another text; `None` if it cannot be read.
    pub(crate) fn changed(
        &self,
        index: usize,
        text: String,
        options: &SourceOptions,
    ) -> Option<Read> {
        muted(|| Read::new(self.source.with_text(index, text), options)).ok()
    }

    /// The MTBDD of all filters, or why there is none. It is built once.
    pub(crate) fn diagram(&self) -> std::result::Result<&(Store, Func), &str> {
        let build = || {
            let mut store = Store::new(PROMPT);
            let root = muted(|| self.stack.diagram(&mut store));
            root.map(|root| (store, root)).map_err(|failure| failure.message().to_owned())
        };
        self.diagram.get_or_init(build).as_ref().map_err(String::as_str)
    }

    /// The MTBDD, for commands that need it.
    pub(crate) fn required_diagram(&self) -> Result<&(Store, Func)> {
        self.diagram().map_err(|why| Failure::about(&self.stack.name, why).multiline())
    }
}
