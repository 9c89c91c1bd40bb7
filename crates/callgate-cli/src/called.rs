//! A syscall on the command line: its name or number, and its arguments.

use callgate::{Arch, SeccompData};

use crate::options::{SourceOptions, native_arch};
use crate::report::{Failure, Result};
use callgate_requests::syscall;

/// Parses a syscall and its arguments; returns it with its ABI.
pub(crate) fn called(
    call: &str,
    args: &[String],
    token: Option<u32>,
    reading: &SourceOptions,
    arches: &[Arch],
) -> Result<(Option<Arch>, SeccompData)> {
    let written = args.is_empty().then(|| parts(call)).flatten();
    let (call, args) = match &written {
        Some((name, args)) => (*name, args.as_slice()),
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
        let own = one_arch(reading, arches)?;
        data.arch = own.token();
        data.nr = syscall::number(own, call)?;
        arch = Some(own);
    }
    for (slot, text) in data.args.iter_mut().zip(args) {
        *slot = syscall::parse_argument(arch, text)?;
    }
    Ok((arch.or_else(|| syscall::arch_of(&data)), data))
}

/// The name and the arguments of a call as C writes it: `socket(AF_INET, SOCK_STREAM, 0)`.
fn parts(call: &str) -> Option<(&str, Vec<String>)> {
    let (name, rest) = call.trim_end_matches(';').split_once('(')?;
    let inside = rest.strip_suffix(')')?.trim();
    let args = inside.split(',').map(|arg| arg.trim().to_owned());
    Some((name.trim(), if inside.is_empty() { Vec::new() } else { args.collect() }))
}

/// The number of arguments of a call that are given, in the call itself or after it.
pub(crate) fn given_count(call: &str, args: &[String]) -> usize {
    let written = args.is_empty().then(|| parts(call)).flatten();
    written.map_or(args.len(), |(_, args)| args.len())
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
