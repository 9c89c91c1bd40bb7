//! The filters of a running process as a source: `pid:N`, or `pid:N/I` for one of them.

use callgate::bpf::FilterFlags;
use callgate_linux::Dump;

use super::filter::Filter;
use super::stack::Stack;
use crate::options::{NATIVE_ENDIAN, SourceOptions};
use crate::report::{Failure, Result};

/// A process or a thread, and maybe one of its filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// The number of a filter, 0 for the oldest.
    pub(super) filter: Option<usize>,
}

impl Process {
    /// Understands `N` and `N/I`.
    pub(super) fn parse(text: &str) -> Result<Process> {
        let (pid, filter) = match text.split_once('/') {
            Some((pid, filter)) => (pid, Some(number(filter))),
            None => (text, None),
        };
        match (number(pid).filter(|pid| *pid > 0), filter) {
            (Some(pid), None) => Ok(Process { pid, filter: None }),
            (Some(pid), Some(Some(filter))) => Ok(Process { pid, filter: Some(filter as usize) }),
            _ => Err(Failure::new(format!("\"{text}\" names no process"))
                .help("write pid:1234, or pid:1234/0 for its oldest filter")),
        }
    }

    /// Its filters, or the one that is meant.
    pub(super) fn read(&self, options: &SourceOptions) -> Result<Stack> {
        if options.of_program()? != NATIVE_ENDIAN {
            return Err(Failure::about(self.name(), "this machine has the other byte order")
                .help("leave --endian out, and --arch for machines unlike this one"));
        }
        let stack = stack_of(self.pid, &dump(self.pid, &self.name())?, options)?;
        let count = stack.filters.len();
        if count == 0 {
            return Err(Failure::about(self.name(), "it has no filter: all calls are allowed")
                .help("filters belong to threads; pid:N is the main thread of process N"));
        }
        let Some(at) = self.filter else { return Ok(stack) };
        let filter = stack.filters.into_iter().nth(at).map(Stack::of);
        filter.ok_or_else(|| {
            Failure::about(self.name(), format!("it has {count} filters, and none of this number"))
                .help("0 is the oldest filter; `callgate dump` lists all")
        })
    }

    fn name(&self) -> String {
        match self.filter {
            None => format!("pid:{}", self.pid),
            Some(filter) => format!("pid:{}/{filter}", self.pid),
        }
    }
}

/// Digits, and nothing else: no sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The filters of a process; `name` is what messages are about.
pub(crate) fn dump(pid: u32, name: &str) -> Result<Dump> {
    callgate_linux::dump(pid)
        .map_err(|error| Failure::about(name, error.to_string()).help(error.help()))
}

/// What a process has installed.
pub(crate) fn stack_of(pid: u32, dump: &Dump, options: &SourceOptions) -> Result<Stack> {
    let filters = dump.filters.iter().enumerate().map(|(at, installed)| {
        let (name, program) = (format!("pid:{pid}/{at}"), installed.program.clone());
        let filter = Filter::of_program(name, program.into(), NATIVE_ENDIAN, options)?;
        let log = installed.flags.is_some_and(|flags| flags.contains(FilterFlags::LOG));
        Ok(Filter { installed: if log { FilterFlags::LOG } else { FilterFlags::NONE }, ..filter })
    });
    Ok(Stack { name: format!("pid:{pid}"), filters: filters.collect::<Result<_>>()? })
}
