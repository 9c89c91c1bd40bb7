//! The filters of a running process as a source: `pid:N`, or `pid:N/I` for one of them.

use callgate::Verdict;
use callgate_bpf::FilterFlags;
use callgate_core::{Insn, Op, Program};
use callgate_formats::abis;
use callgate_linux::Dump;
use callgate_requests::source::{SourceFilter, SourceStack};

use super::filter::WORDING;
use super::filter::program_filter;
use crate::options::{NATIVE_ENDIAN, SourceOptions, native_arch};
use crate::report::{self, Failure, Result};
use crate::text::counted;

const NO_FILTER: &str = "the thread has no filter, so all syscalls are allowed";

/// A process or thread, or one of its filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessSource {
    pub(super) pid: u32,
    /// The number of a filter, 0 for the oldest.
    pub(super) filter: Option<usize>,
}

impl ProcessSource {
    /// Parses `N` and `N/I`.
    pub(super) fn parse(text: &str) -> Result<ProcessSource> {
        let (pid, filter) = match text.split_once('/') {
            Some((pid, filter)) => (pid, Some(number(filter))),
            None => (text, None),
        };
        match (number(pid).filter(|pid| *pid > 0), filter) {
            (Some(pid), None) => Ok(ProcessSource { pid, filter: None }),
            (Some(pid), Some(Some(filter))) => {
                Ok(ProcessSource { pid, filter: Some(filter as usize) })
            }
            _ => Err(Failure::new(format!("\"{text}\" is not a process ID"))
                .help("write pid:1234, or pid:1234/0 for its oldest filter")),
        }
    }

    /// Dumps its filters, or one of them. It is an error if there is none.
    pub(super) fn read(&self, options: &SourceOptions) -> Result<SourceStack> {
        self.read_if_any(options)?.ok_or_else(|| {
            Failure::about(self.name(), NO_FILTER)
                .help("filters belong to threads; pid:N is the main thread of process N, or any other thread")
        })
    }

    /// Like [`Self::read`], but a thread without filters has a filter that allows everything, with a warning.
    pub(super) fn read_or_unrestricted(&self, options: &SourceOptions) -> Result<SourceStack> {
        if self.filter.is_some() {
            return self.read(options);
        }
        if let Some(stack) = self.read_if_any(options)? {
            return Ok(stack);
        }
        report::warn_about(
            &self.name(),
            NO_FILTER,
            "filters belong to threads; pid:N is the main thread of process N, or any other thread",
        );
        let arches = match options.arch.as_slice() {
            [] => abis(native_arch()?),
            given => given.to_vec(),
        };
        let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])
            .map_err(|error| Failure::about(self.name(), error.to_string()))?;
        let filter = SourceFilter::of_program(self.name(), program.into(), NATIVE_ENDIAN, arches);
        Ok(SourceStack::of(filter.of_caller(WORDING, options.strict)))
    }

    /// Its filters, or one of them; `None` if the thread has none, and all are asked for.
    fn read_if_any(&self, options: &SourceOptions) -> Result<Option<SourceStack>> {
        if options.of_program()? != NATIVE_ENDIAN {
            return Err(Failure::about(
                self.name(),
                "the options select a byte order other than this machine's",
            )
            .help("omit --endian and --arch"));
        }
        let stack = stack_of(self.pid, &dump(self.pid, &self.name())?, options)?;
        let count = stack.filters.len();
        if count == 0 {
            return Ok(None);
        }
        let Some(at) = self.filter else { return Ok(Some(stack)) };
        let filter = stack.filters.into_iter().nth(at).map(SourceStack::of);
        filter.map(Some).ok_or_else(|| {
            Failure::about(
                self.name(),
                format!("the thread has only {}", counted(count as u64, "filter")),
            )
            .help("0 is the oldest filter; `callgate dump PID` lists all")
        })
    }

    pub(super) fn name(&self) -> String {
        match self.filter {
            None => format!("pid:{}", self.pid),
            Some(filter) => format!("pid:{}/{filter}", self.pid),
        }
    }
}

/// Parses digits without a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Dumps the filters of a process; `name` is the name in messages.
pub(crate) fn dump(pid: u32, name: &str) -> Result<Dump> {
    callgate_linux::dump(pid)
        .map_err(|error| Failure::about(name, error.to_string()).help(error.help()))
}

/// The filters of a process as a stack.
pub(crate) fn stack_of(pid: u32, dump: &Dump, options: &SourceOptions) -> Result<SourceStack> {
    let filters = dump.filters.iter().enumerate().map(|(at, installed)| {
        let (name, program) = (format!("pid:{pid}/{at}"), installed.program.clone());
        let mut filter = program_filter(name, program.into(), options)?;
        let log = installed.flags.is_some_and(|flags| flags.contains(FilterFlags::LOG));
        filter.flags = if log { FilterFlags::LOG } else { FilterFlags::NONE };
        Ok(filter)
    });
    Ok(SourceStack { name: format!("pid:{pid}"), filters: filters.collect::<Result<_>>()? })
}
