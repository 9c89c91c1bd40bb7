//! A source with its filters.

use std::cell::OnceCell;

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::known_names;
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

use crate::options::{PROMPT, SourceOptions};
use crate::report::{Failure, Result, muted};
use crate::source::{Combine, LoadedSource, SourceStack};

/// A source with its filters, and their MTBDD.
pub(crate) struct Read {
    pub(crate) source: LoadedSource,
    pub(crate) stack: SourceStack,
    diagram: OnceCell<std::result::Result<(Store, Func), String>>,
    /// Whether each of the programs that read the source differently accepts it.
    accepted: OnceCell<Vec<bool>>,
}

impl Read {
    pub(crate) fn new(source: LoadedSource, options: &SourceOptions) -> Result<Read> {
        let stack = source.read(options)?;
        Ok(Read { source, stack, diagram: OnceCell::new(), accepted: OnceCell::new() })
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

    /// Whether each program that accepts the source, such as a container runtime, accepts this one as well.
    pub(crate) fn is_accepted_like(&self, before: &Read, options: &SourceOptions) -> bool {
        let (before, after) = (before.accepted(options), self.accepted(options));
        before.iter().zip(after).all(|(before, after)| *after || !before)
    }

    fn accepted(&self, options: &SourceOptions) -> &[bool] {
        self.accepted.get_or_init(|| {
            let others = self.source.other_readings();
            others.iter().map(|other| muted(|| other.read(options)).is_ok()).collect()
        })
    }

    /// Whether the filters let every syscall of their architectures run: they only record, or do nothing.
    pub(super) fn blocks_nothing(&self) -> bool {
        let Ok((store, root)) = self.diagram() else { return false };
        let arches = self.stack.arches();
        let calls = arches
            .iter()
            .flat_map(|arch| known_names().filter_map(|name| Some((*arch, arch.number(name)?))));
        let mut calls = calls.map(|(arch, nr)| {
            let of_arch = store.follow(*root, Word::ARCH, arch.token());
            store.follow(of_arch, Word::NR, nr)
        });
        !arches.is_empty()
            && calls.all(|of| store.verdicts(of).iter().all(|verdict| verdict.permits()))
    }

    /// The MTBDD, for commands that need it.
    pub(crate) fn required_diagram(&self) -> Result<&(Store, Func)> {
        self.diagram().map_err(|why| Failure::about(&self.stack.name, why).multiline())
    }
}
