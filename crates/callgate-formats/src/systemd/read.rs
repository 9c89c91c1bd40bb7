//! Reads units.

use super::filters::{UnitFilter, UnitFilters};
use super::lower::lower;
use super::options::{ReadOptions, UnitText};
use super::unit::{UnitReader, is_read};
use super::version::SystemdVersion;
use crate::files::{At, FileErrors};
use callgate_bpf::advice::Advice;

/// Reads a unit file and its drop-ins, in the order in which systemd reads them, or directives without a file.
///
/// ```
/// use callgate_bpf::syscalls::KernelVersion;
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::systemd::{self, ReadOptions, UnitText};
///
/// let options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
/// let unit = UnitText::unit("[Service]\nSystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM\n");
/// let drop_in = UnitText::unit("[Service]\nSystemCallFilter=~@chown\n");
/// let unit = systemd::read(&[unit, drop_in], &options)?;
/// let call = |nr| SeccompData { nr, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(unit.evaluate(&call(0)), Verdict::ALLOW); // read
/// assert_eq!(unit.evaluate(&call(92)), Verdict::errno(1)); // chown
/// # Ok::<(), systemd::UnitErrors>(())
/// ```
///
/// # Errors
/// All messages about the texts, including warnings, if systemd would not load or start the unit, or if a limit is
/// exceeded.
pub fn read(texts: &[UnitText<'_>], options: &ReadOptions) -> Result<UnitFilters, FileErrors> {
    let mut reader = UnitReader::new(texts, options);
    for (file, text) in texts.iter().enumerate() {
        reader.read(file, text);
    }
    let UnitReader { mut report, settings, .. } = reader;
    let lowered = match report.failed() {
        true => Ok(Vec::new()),
        false => lower(&settings, texts, options, &mut report),
    };
    match lowered {
        Ok(filters) if !report.failed() => {
            if let Some(other) = options.is_version_assumed.then(|| older(options)).flatten() {
                if !is_same(&filters, texts, &other) {
                    let message = format!(
                        "systemd {} reads this unit in another way than systemd {}, which is assumed",
                        other.version, options.version
                    );
                    report.warn(At::default(), message).set_help(Advice::SystemdVersion);
                }
            }
            Ok(UnitFilters { filters, warnings: report.finish() })
        }
        Ok(_) => Err(report.finish().into()),
        Err(error) => {
            report.error(At::default(), error.to_string());
            Err(report.finish().into())
        }
    }
}

/// The options for the oldest known version, unless that is the one of these options.
fn older(options: &ReadOptions) -> Option<ReadOptions> {
    let version = SystemdVersion::all().next().filter(|oldest| *oldest != options.version)?;
    let (is_version_assumed, statements) = (false, false);
    Some(ReadOptions { version, is_version_assumed, statements, ..options.clone() })
}

/// Whether texts have the same filters with other options.
fn is_same(filters: &[UnitFilter], texts: &[UnitText<'_>], other: &ReadOptions) -> bool {
    let others = read(texts, other).map(|unit| unit.filters).unwrap_or_default();
    let key = |filter: &UnitFilter| (filter.directive, filter.arch, filter.policy.clone());
    filters.iter().map(key).eq(others.iter().map(key))
}

/// Whether a text consists of assignments without the header of a section, and at least one of them decides about filters: a
/// part of a unit, as people quote it.
///
/// ```
/// use callgate_formats::systemd::is_without_section;
///
/// assert!(is_without_section("# resolved\nNoNewPrivileges=yes\nSystemCallFilter=@basic-io"));
/// assert!(!is_without_section("[Service]\nSystemCallFilter=@basic-io"));
/// assert!(!is_without_section("A = sys_number"));
/// ```
pub fn is_without_section(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut lines =
        lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).peekable();
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim_end().to_owned());
    let is_key = |key: String| {
        key.starts_with(|c: char| c.is_ascii_uppercase())
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let begins = lines.peek().is_some_and(|line| key(line).is_some_and(is_key));
    let mut has_section = false;
    let mut is_about_filters = false;
    for line in lines.by_ref() {
        has_section |= line.starts_with('[');
        is_about_filters |= key(line).is_some_and(|key| is_read(&key));
    }
    begins && is_about_filters && !has_section
}
