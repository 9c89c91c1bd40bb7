//! Reader of documents: from the text to a [`Profile`].

use super::model::ThreadFilter;
use super::options::ReadOptions;
use super::{lower, parse};
use crate::diagnostics::quote::shorten;
use crate::profile::Profile;
use crate::syntax::json;
use crate::syntax::keys::KeyMatching;
use crate::syntax::reader::Reader;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_core::Arch;

/// The architectures for which seccompiler compiles.
const ARCHES: [Arch; 3] = [Arch::X86_64, Arch::Aarch64, Arch::Riscv64];

/// The maximum number of threads that a message lists.
const MAX_LISTED: usize = 20;

/// Reads the filter of a thread.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::firecracker::{ReadOptions, read};
///
/// let text = r#"{"vmm": {"mismatch_action": "trap", "match_action": "allow",
///                        "filter": [{"syscall": "getpid"}]}}"#;
/// let profile = read(text, &ReadOptions::new(Arch::X86_64))?;
/// let getpid = SeccompData { nr: 39, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&getpid), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let arch = options.arch;
    if !ARCHES.contains(&arch) {
        let names = ARCHES.map(Arch::name).join(", ");
        let message = format!("seccompiler has no filters for {arch}");
        let help = format!("give one of its architectures: {names}");
        return Err(Diagnostic::error(None, message).help(help).into());
    }
    let document = json::parse(text)?;
    let mut reader = Reader::new(text, KeyMatching::Exact).refusing_unknown_keys();
    let threads = parse::threads(&mut reader, &document, arch);
    let lowered = if reader.failed() {
        None
    } else {
        choose(&mut reader, &threads, options)
            .and_then(|filter| lower::lower(&mut reader, filter, options))
    };
    let failed = reader.failed();
    let messages = reader.finish();
    match lowered {
        Some((policy, statements)) if !failed => {
            Ok(Profile { warnings: messages, statements, ..Profile::of(policy) })
        }
        _ => Err(messages.into()),
    }
}

/// The filter of a thread. `None` only after an error was reported.
fn choose<'f, 'n>(
    reader: &mut Reader<'_>,
    threads: &'f [ThreadFilter<'n>],
    options: &ReadOptions,
) -> Option<&'f ThreadFilter<'n>> {
    let wanted = options.thread.as_deref();
    let found = match (wanted, threads) {
        (None, [only]) => return Some(only),
        (None, _) => None,
        (Some(name), _) => threads.iter().find(|thread| thread.name == name),
    };
    if found.is_some() {
        return found;
    }
    let mut names: Vec<String> =
        threads.iter().take(MAX_LISTED).map(|thread| shorten(thread.name)).collect();
    if threads.len() > MAX_LISTED {
        names.push("…".to_owned());
    }
    let names = names.join(", ");
    let at = threads.first().map_or(0, |thread| thread.at);
    let (message, help) = match wanted {
        None => (
            format!("the document has {} filters, for the threads {names}", threads.len()),
            threads
                .first()
                .map_or_else(String::new, |thread| (options.choosing)(&shorten(thread.name))),
        ),
        Some(name) => {
            let help = match reader.nearest(name, threads.iter().map(|thread| thread.name)) {
                Some(near) => format!("did you mean `{near}`? The threads are {names}"),
                None => format!("the threads are {names}"),
            };
            (format!("the document has no filter for the thread `{}`", shorten(name)), help)
        }
    };
    reader.error(at, message).help = help;
    None
}
