//! `callgate generate`: a least-privilege profile from recordings.

mod summary;

use std::ffi::OsString;
use std::path::PathBuf;

use callgate::Arch;
use callgate::generate::{
    self, Arguments, Deny, Form, GenerateError, NEWEST_SYSTEMD, OLDEST_SYSTEMD, Runtime,
};
use callgate::recording::Recording;
use clap::{ValueEnum, ValueHint};

use crate::options::{Format, Switch, parse_arch};
use crate::output;
use crate::recordings::{self, Reading};
use crate::report::{self, Failure, Result};
use summary::Figures;

/// Make a least-privilege profile from recordings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The profile allows what was recorded, in all recordings together, and denies all
else. It is checked against the recordings before it is written, and says in
comments why each call is there:

  recorded       the program called it.
  at the start   whoever installs the filter calls it afterwards (--runtime); in
                 a recording of the program alone it is missing.
  like another   another C library or version calls it instead of a recorded one
                 (--complete): statx for stat, vfork for fork.

Arguments that choose what a call does (a socket's family, the command of ioctl,
memory that is executable) are limited to recorded values where that is a
privilege of its own, and else where the values are the same in all recordings,
or, in the only one, were seen four times as often as there are different ones.
Give recordings of several runs, or one that callgate record merge made of them:
the profile is the same.

A recording says of itself where calls are missing (lost, threads that were not
recorded, a file that is cut off); then there is a profile only with --partial.
Other caveats are warnings: that filters denied recorded calls, that a
set-user-ID program ran without its privileges.

The default for other calls is ENOSYS: libraries that try a newer call fall
back, as they do on an older kernel; after EPERM they give up.

A RECORDING is what callgate record writes, a log of strace, a table of strace
-c or perf trace -s, or SECCOMP records of the audit log, dmesg or journalctl.
It serves the compiler too, as --weights.

Examples:
  callgate record -o T.json -- my-server --once
  callgate generate T.json -o profile.json && callgate run -s profile.json -- \\
    my-server --once
  callgate generate monday.json tuesday.json --explain -o profile.json
  callgate record merge monday.json tuesday.json -o all.json
  callgate generate all.json -o profile.json           the same profile
  callgate generate T.json --emit systemd --systemd 252 -o my.service.d/a.conf
  callgate generate T.json --emit kafel --deny kill --complete off")]
pub(crate) struct GenerateArgs {
    /// Recordings of the program; together they are what it may do
    #[arg(required = true, value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    recordings: Vec<OsString>,

    /// Where the profile goes [default: standard output]; it appears there whole or not at all
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The language of the profile
    #[arg(long, value_name = "LANG", default_value = "oci")]
    emit: Emit,

    /// Who installs the filter: what it calls afterwards is granted [default: oci (runc and crun) for oci,
    /// systemd for systemd, nsjail for kafel]
    #[arg(long, value_name = "WHO")]
    runtime: Option<RuntimeArg>,

    /// The version of systemd that a unit is for: newer calls are left out, with a warning
    #[arg(
        long,
        value_name = "VERSION",
        default_value_t = NEWEST_SYSTEMD,
        value_parser = clap::value_parser!(u16).range(i64::from(OLDEST_SYSTEMD)..)
    )]
    systemd: u16,

    /// Whether to grant what other C libraries call instead of recorded calls
    #[arg(long, value_name = "WHEN", default_value = "on")]
    complete: Switch,

    /// Which arguments are limited to recorded values
    #[arg(long, value_name = "WHICH", default_value = "stable")]
    args: ArgumentsArg,

    /// What happens to all other calls
    #[arg(long, value_name = "HOW", default_value = "enosys")]
    deny: DenyArg,

    /// The architecture that the profile is for, and whose calls are in logs that do not say it; may be
    /// repeated [default: those that were recorded]
    #[arg(long, value_name = "ARCH", value_parser = parse_arch)]
    arch: Vec<Arch>,

    /// Take unknown names of calls in logs as errors
    #[arg(long)]
    strict: bool,

    /// Make a profile of recordings in which calls are missing: lost, not recorded, or behind a cut. It will
    /// deny them
    #[arg(long)]
    partial: bool,

    /// Say for each call why it is granted, and what of its arguments is limited
    #[arg(long)]
    explain: bool,

    /// The form of the summary; JSON goes to standard output when the profile goes to a file
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// JSON for Docker, Podman, runc and other OCI runtimes
    Oci,
    /// Lines for a unit of systemd, which limits arguments by a few directives alone
    Systemd,
    /// A Kafel policy, for nsjail
    Kafel,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RuntimeArg {
    /// runc or crun: the profile starts under either
    Oci,
    /// runc, the default of Docker, containerd and Kubernetes
    Runc,
    /// crun, the default of Podman and CRI-O
    Crun,
    /// systemd: it grants its set @default by itself
    Systemd,
    /// nsjail
    Nsjail,
    /// callgate run
    Callgate,
    /// The program itself
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ArgumentsArg {
    /// Those whose other values are privileges of their own, and those that are stable
    Stable,
    /// All that can be limited, however little was seen of them
    All,
    /// None
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DenyArg {
    /// They fail as on a kernel that does not have them
    Enosys,
    /// They fail as not permitted
    Eperm,
    /// The process is killed
    Kill,
    /// They run and are logged, to try a profile out
    Log,
}

impl GenerateArgs {
    fn form(&self) -> Form {
        match self.emit {
            Emit::Oci => Form::Oci,
            Emit::Systemd => Form::Systemd,
            Emit::Kafel => Form::Kafel,
        }
    }

    fn options(&self) -> generate::Options {
        let runtime = match (self.runtime, self.emit) {
            (Some(RuntimeArg::Oci), _) | (None, Emit::Oci) => Runtime::Oci,
            (Some(RuntimeArg::Runc), _) => Runtime::Runc,
            (Some(RuntimeArg::Crun), _) => Runtime::Crun,
            (Some(RuntimeArg::Systemd), _) | (None, Emit::Systemd) => Runtime::Systemd,
            (Some(RuntimeArg::Nsjail), _) | (None, Emit::Kafel) => Runtime::Nsjail,
            (Some(RuntimeArg::Callgate), _) => Runtime::Callgate,
            (Some(RuntimeArg::None), _) => Runtime::None,
        };
        generate::Options {
            arches: self.arch.clone(),
            complete: matches!(self.complete, Switch::On),
            arguments: match self.args {
                ArgumentsArg::Stable => Arguments::Stable,
                ArgumentsArg::All => Arguments::All,
                ArgumentsArg::Off => Arguments::Off,
            },
            deny: match self.deny {
                DenyArg::Enosys => Deny::Enosys,
                DenyArg::Eperm => Deny::Eperm,
                DenyArg::Kill => Deny::Kill,
                DenyArg::Log => Deny::Log,
            },
            runtime,
            systemd: self.systemd,
            partial: self.partial,
        }
    }
}

pub(crate) fn run(args: &GenerateArgs) -> Result<u8> {
    let arch = args.arch.first().copied();
    let reading = Reading { arch, strict: args.strict, partial: args.partial };
    let named = recordings::read_all(&args.recordings, reading)?;
    let recordings: Vec<Recording> = named.iter().map(|named| named.recording.clone()).collect();
    let failed = |error: GenerateError| {
        let failure = match named.as_slice() {
            [one] => Failure::about(&one.name, error.to_string()),
            _ => Failure::new(error.to_string()),
        };
        failure.help(error.help())
    };
    let draft = generate::generate(&recordings, &args.options()).map_err(failed)?;
    let form = args.form();
    for remark in generate::remarks(&recordings, &draft, form) {
        report::warn(remark.message, remark.help);
    }
    let written = draft.write(form).map_err(failed)?;
    let figures = Figures::of(&draft, &written)?;

    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    match output {
        Some(path) => output::write_file(path, written.text.as_bytes())?,
        None => output::print(&written.text)?,
    }
    let summary = match args.format {
        Format::Text => {
            let mut text = figures.text(&draft, form);
            if args.explain {
                summary::grants(&mut text, &draft, form);
            }
            if let Some(path) = output.filter(|_| form == Form::Oci) {
                summary::weights(&mut text, path, &named);
            }
            text
        }
        Format::Json => figures.json(&draft, form),
    };
    match (args.format, output) {
        (Format::Json, Some(_)) => output::print(&summary)?,
        _ => report::note(&summary),
    }
    Ok(0)
}
