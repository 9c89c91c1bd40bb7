//! Reads units.

use super::filters::UnitFilters;
use super::lower::lower;
use super::options::{ReadOptions, UnitText};
use super::unit::UnitReader;
use crate::files::{At, FileErrors};

/// Reads a unit file and its drop-ins, in the order in which systemd reads them, or directives without a file.
///
/// ```
/// use callgate_bpf::syscalls::KernelVersion;
/// use callgate_bpf::{Arch, SeccompData, Verdict};
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
        false => lower(&settings, options, &mut report),
    };
    match lowered {
        Ok(filters) if !report.failed() => Ok(UnitFilters { filters, warnings: report.finish() }),
        Ok(_) => Err(report.finish().into()),
        Err(error) => {
            report.error(At::default(), error.to_string());
            Err(report.finish().into())
        }
    }
}
