//! Reads profiles: from the text to a [`Profile`].

use super::hosts::host_of;
use super::lower::lower;
use super::options::ReadOptions;
use super::parse::parse;
use crate::profile::Profile;
use crate::syntax::keys::KeyMatching;
use crate::syntax::reader::Reader;
use callgate_bpf::diagnostic::Diagnostics;

/// Reads a profile.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::lxc::{ReadOptions, read};
///
/// let text = "2\ndenylist\n[all]\nkexec_load errno 1\nsocket errno 97 [0,10,==]\n";
/// let profile = read(text, &ReadOptions::new(Arch::X86_64))?;
/// let mut socket = SeccompData { nr: 41, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&socket), Verdict::ALLOW);
/// socket.args[0] = 10;
/// assert_eq!(profile.policy.evaluate(&socket), Verdict::errno(97));
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let mut reader = Reader::new(text, KeyMatching::Exact);
    let native = host_of(options.native);
    let model = parse(&mut reader, text, native).filter(|_| !reader.failed());
    let lowered = model.and_then(|model| lower(&mut reader, &model, native, options));
    let failed = reader.failed();
    let messages = reader.finish();
    match lowered {
        Some((policy, statements)) if !failed => {
            Ok(Profile { warnings: messages, statements, ..Profile::of(policy) })
        }
        _ => Err(messages.into()),
    }
}
