//! A syscall on the command line: its name or number, and its arguments.

use callgate::{Arch, SeccompData};

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::{instead, name_in_constant};

use crate::options::{SourceOptions, native_arch};
use crate::report::{self, Failure, Result};
use callgate_requests::syscall;
use callgate_requests::written::{ANY, Written};

/// A syscall with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    /// Its ABI; `None` for an arch token of none.
    pub(crate) arch: Option<Arch>,
    /// The syscall; arguments that may have any value are 0.
    pub(crate) data: SeccompData,
    /// The arguments that are given with a value: index and value.
    pub(crate) given: Vec<(u8, u64)>,
    /// The indexes of the arguments that may have any value.
    pub(crate) any: Vec<u8>,
}

/// Parses a syscall and its arguments.
pub(crate) fn called(
    call: &str,
    args: &[String],
    token: Option<u32>,
    reading: &SourceOptions,
    arches: &[Arch],
) -> Result<Called> {
    let written = Written::of(call).filter(|_| args.is_empty());
    let (call, args) = match &written {
        Some(written) => (written.name, written.args.as_slice()),
        None => (call, args),
    };
    if args.len() > 6 {
        return Err(Failure::new(format!(
            "{} arguments given, but a syscall has at most 6",
            args.len()
        )));
    }
    let mut data = SeccompData::default();
    let mut arch = None;
    if let Some(token) = token {
        data.arch = token;
        data.nr = syscall::parse_number(call)?;
    } else {
        let own = match written.as_ref().and_then(|written| written.arch) {
            Some(own) if reading.arch.is_empty() || reading.arch == [own] => own,
            Some(own) => {
                return Err(Failure::new(format!(
                    "the call is of {own}, and --arch is another one"
                ))
                .help("omit --arch, or the architecture before the call"));
            }
            None => one_arch(reading, arches)?,
        };
        data.arch = own.token();
        data.nr = match syscall::find(own, call)? {
            Some(nr) => nr,
            None => nr_instead(own, call, args)?,
        };
        arch = Some(own);
    }
    if let Some(at) = written.as_ref().and_then(|written| written.at) {
        data.instruction_pointer = syscall::parse_value(at)
            .map_err(|why| Failure::new(format!("instruction pointer \"{at}\": {why}")))?;
    }
    let (mut given, mut any) = (Vec::new(), Vec::new());
    for ((index, slot), text) in (0..).zip(&mut data.args).zip(args) {
        if text == ANY {
            any.push(index);
        } else {
            *slot = syscall::parse_argument(arch, text)?;
            given.push((index, *slot));
        }
    }
    Ok(Called { arch: arch.or_else(|| syscall::arch_of(&data)), data, given, any })
}

/// The number of the syscall that programs use on an architecture that does not have this one. Its arguments are others.
fn nr_instead(arch: Arch, name: &str, args: &[String]) -> Result<u32> {
    let name = name_in_constant(name).unwrap_or(name);
    let Some(other) = instead(arch, name) else {
        return Err(syscall::unknown(&[arch], name).into());
    };
    let message = format!("{arch} has no `{name}`: programs use `{other}` there");
    match arch.number(other) {
        Some(nr) if args.is_empty() => {
            report::warn(message, format!("the answer is about `{other}`"));
            Ok(nr)
        }
        _ => Err(Failure::new(message)
            .help(format!("ask about `{other}`, whose arguments may be others"))),
    }
}

/// Whether words are a call as C and Callgate write it.
pub(crate) fn is_call(words: &str) -> bool {
    Written::of(words).is_some()
}

/// The architecture of a syscall that does not name one.
pub(crate) fn one_arch(reading: &SourceOptions, arches: &[Arch]) -> Result<Arch> {
    match *reading.arch.as_slice() {
        [arch] => Ok(arch),
        [] => default_arch(arches),
        _ => Err(Failure::new("a syscall belongs to one architecture, but several are given")
            .help("give --arch once")),
    }
}

/// This machine's architecture if the filter supports it, otherwise the first of the filter.
pub(crate) fn default_arch(arches: &[Arch]) -> Result<Arch> {
    match Arch::native().filter(|native| arches.contains(native)).or(arches.first().copied()) {
        Some(arch) => Ok(arch),
        None => native_arch(),
    }
}
