//! Options of `callgate generate`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use callgate::Arch;
use callgate_formats::CapSet;
use callgate_formats::languages::LanguageId;
use callgate_trace::generate::{
    AllowedNamespaces, DenyAction, GenerateOptions, LimitedArgs, NEWEST_SYSTEMD, OLDEST_SYSTEMD,
    Runtime,
};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};

use crate::options::{ArchParser, Format, SourceOptions, Switch};
use crate::selection::SelectionOptions;
use crate::source::InstalledSystemd;
use callgate_formats::oci::is_resource_name;
use callgate_formats::systemd;

/// Generate a least-privilege profile from recordings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The profile allows everything in any of the recordings, except clone3 (see
below), and denies all other syscalls. It is checked against the recordings
before it is written. Comments in the profile give the reason for each syscall:

  recorded        the program made it.
  at the start    the program that installs the filter makes it afterwards
                  (--runtime); recordings of the command do not have it.
  by the kernel   the kernel makes programs call it after signals and
                  interrupted sleeps.
  by the runtime  a C library or the runtime of a language may make it at any
                  time: abort(3), preemption of Go, the compiler of Java or
                  Node.js (--runtime-calls). --explain shows where.
  related         another C library or version makes it instead of a recorded
                  one, or in addition to it (--complete): statx for stat, vfork
                  for fork.

Arguments that select what a syscall does (the family of a socket, the command
of ioctl, executable memory) are limited to recorded values if other values are
additional privileges. Otherwise they are limited if the values are stable: the
same in all recordings, or in a single recording observed at least four times
per distinct value. Recordings of several runs give the best profile; callgate
record merge combines them into a file that gives the same profile.

New namespaces can only be created as recorded in the flags of clone and
unshare. clone3 has its flags in memory, which no filter sees: it fails with
ENOSYS, and glibc, musl and Go use clone instead. A program that needs
namespaces of clone3 gets them by name: --namespaces user,net. Whatever is
dangerous and denied by Docker's default profile is printed as a warning and
marked in the profile.

If the caveats of a recording say that syscalls are missing (lost syscalls or
audit records, threads that were not recorded, a truncated file), --partial is
required. Other caveats are warnings, for example that a filter denied recorded
syscalls, or that a set-user-ID program ran without its privileges.

--update adds what the recordings need to an existing profile, in its own
language, with its comments and its order. Arguments are limited to recorded
values as in a new profile, and where the profile tests them. The result is
proved to allow everything that was recorded, and otherwise to permit the same;
only a clone3 that fails with ENOSYS keeps doing so, and clone is allowed. What
is dangerous in the additions is printed as a warning.

--binary lists the syscalls that the code of an x86-64 or aarch64 program and
its libraries can make, whether or not they were recorded: an upper bound,
with warnings about what it lacks (libraries loaded at run time, generated
code). Those that were not recorded are mostly error paths. --grant static
grants all. If the number of a syscall cannot be computed, a profile from the
code is written only with --allow-unknown-sites.

By default, other syscalls fail with ENOSYS: libraries that try a newer syscall
fall back to an older one, as on an older kernel. After EPERM they would not.

A RECORDING is a file of callgate record, a strace log, a table of strace -c
or perf trace -s, or SECCOMP records from the audit log, dmesg or journalctl. It
can also be used for --weights.

Examples:
  callgate record -o T.json -- my-server --once
  callgate generate T.json -o profile.json && callgate run -s profile.json -- \\
    my-server --once
  callgate generate monday.json tuesday.json --explain -o profile.json
  callgate record merge monday.json tuesday.json -o all.json
  callgate generate all.json -o profile.json           gives the same profile
  callgate generate --update profile.json friday.json | patch -p1
  callgate generate T.json --binary my-server --explain
  callgate generate --binary ./static-server -o profile.json
  callgate generate T.json --to systemd --systemd 252 -o my.service.d/a.conf
  callgate generate T.json --to k8s --name nginx -o nginx.yaml
  callgate generate T.json --to kafel --deny kill --complete off

Exit status: 0 success, 2 error.")]
pub(crate) struct GenerateArgs {
    /// Recordings of the program; the profile allows everything in any of them
    #[arg(
        required_unless_present = "binary",
        value_name = "RECORDING",
        value_hint = ValueHint::FilePath
    )]
    pub(super) recordings: Vec<OsString>,

    /// Write the profile to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) output: Option<PathBuf>,

    /// List the syscalls that the code of this program and its libraries can make, beside the recordings; may be
    /// repeated. Without a recording, grant them
    #[arg(
        long,
        value_name = "ELF",
        value_hint = ValueHint::FilePath,
        conflicts_with = "update"
    )]
    pub(super) binary: Vec<PathBuf>,

    /// A library that the programs of --binary load while they run (dlopen); may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "binary")]
    pub(super) library: Vec<PathBuf>,

    /// The directory with the libraries of the programs of --binary, such as that of a container [default: /]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "binary")]
    pub(super) sysroot: Option<PathBuf>,

    /// Which syscalls are granted with --binary [default: recorded, or static without recordings]
    #[arg(long, value_name = "WHICH", requires = "binary")]
    grant: Option<GrantArg>,

    /// Write a profile from the code of the programs although the numbers of some syscalls are not known. The profile
    /// denies them
    #[arg(long, requires = "binary")]
    pub(super) allow_unknown_sites: bool,

    /// Add to this profile, in any format with a text, what the recordings need and nothing else, and print the patch; -o
    /// writes the changed profile
    #[arg(
        long,
        value_name = "SOURCE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["to", "runtime", "systemd", "complete", "runtime_calls", "deny", "explain"]
    )]
    pub(super) update: Option<OsString>,

    /// The capabilities for the conditions of the profile of --update [default: docker]
    #[arg(long, value_name = "CAPS", requires = "update")]
    caps: Option<CapSet>,

    /// The language of the profile
    #[arg(long, alias = "emit", value_name = "LANGUAGE", default_value = "oci", value_parser = language_parser())]
    to: LanguageId,

    /// The name of the resource of k8s [default: that of the output file, or generated-profile]
    #[arg(long, value_name = "NAME", value_parser = resource_name, conflicts_with = "update")]
    name: Option<String>,

    /// The program that installs the filter; syscalls that it makes afterwards are granted [default: oci (runc and
    /// crun) for oci and k8s, systemd for systemd, nsjail for kafel]
    #[arg(long, value_name = "PROGRAM", value_parser = runtime_parser())]
    runtime: Option<Runtime>,

    /// The version of systemd for a unit, at least 252; syscalls that it does not know are omitted, with a warning
    /// [default: that of this machine, or 258]
    #[arg(
        long,
        value_name = "VERSION",
        value_parser = clap::value_parser!(u16).range(i64::from(OLDEST_SYSTEMD)..)
    )]
    systemd: Option<u16>,

    /// Whether to grant syscalls that other C libraries make instead of recorded ones
    #[arg(long, value_name = "WHEN", default_value = "on")]
    complete: Switch,

    /// Whether to grant what C libraries, and the runtimes of Go, Java, Node.js and Python, may do at any time
    #[arg(long, value_name = "WHEN", default_value = "on")]
    runtime_calls: Switch,

    /// The namespaces that programs may create: recorded, which are those in the recorded flags of clone and unshare; or
    /// also these, such as user,net; or any, which also grants clone3 if it was recorded
    #[arg(long, value_name = "WHICH", default_value = "recorded", value_parser = namespaces)]
    namespaces: AllowedNamespaces,

    /// Which arguments are limited to recorded values
    #[arg(long, value_name = "WHICH", default_value = "stable")]
    args: ArgumentsArg,

    /// What happens to all other syscalls
    #[arg(long, value_name = "ACTION", default_value = "enosys", ignore_case = true)]
    deny: DenyArg,

    /// The architecture of the profile, and of logs that do not name one; may be repeated [default: those with
    /// recorded syscalls]
    #[arg(long, value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true)]
    pub(super) arch: Vec<Arch>,

    /// Treat unknown names of syscalls in logs as errors
    #[arg(long)]
    pub(super) strict: bool,

    #[command(flatten)]
    pub(super) selection: SelectionOptions,

    /// Accept recordings from which syscalls are missing: lost, not recorded, or truncated. The profile denies
    /// missing syscalls
    #[arg(long)]
    pub(super) partial: bool,

    /// Print for each syscall why it is granted, and which arguments are limited
    #[arg(long)]
    pub(super) explain: bool,

    /// The format of the report; with -o, JSON is printed on standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
}

/// Parses the name of a program that installs filters.
fn runtime_parser() -> impl TypedValueParser<Value = Runtime> {
    let of = |runtime: &Runtime| PossibleValue::new(runtime.name()).help(runtime.about());
    let names = PossibleValuesParser::new(Runtime::ALL.iter().map(of));
    names.try_map(|name| Runtime::from_name(&name).ok_or("unknown program"))
}

/// Parses the name of a language in which profiles are generated; help and completions list all of them.
fn language_parser() -> impl TypedValueParser<Value = LanguageId> {
    let of = |id: LanguageId| {
        let to = id.annotated()?;
        Some(PossibleValue::new(id.name()).help(to.help).aliases(to.also))
    };
    let names = PossibleValuesParser::new(LanguageId::written().filter_map(of));
    names.try_map(|name| {
        let is_it = |id: &LanguageId| {
            id.annotated().is_some_and(|to| id.name() == name || to.also.contains(&&*name))
        };
        LanguageId::written().find(is_it).ok_or("unknown language")
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GrantArg {
    /// What was recorded
    Recorded,
    /// What was recorded, and what the code of the programs can make
    Static,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ArgumentsArg {
    /// Arguments whose other values are additional privileges, and arguments with stable values
    Stable,
    /// All that can be limited, even if they were observed only once
    All,
    /// None
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DenyArg {
    /// They fail with ENOSYS, as on a kernel without them
    Enosys,
    /// They fail with EPERM
    Eperm,
    /// The process is killed
    #[value(alias = "KILL_PROCESS")]
    Kill,
    /// They are executed and logged, to try out a profile
    Log,
}

/// Parses the name of a resource.
fn resource_name(name: &str) -> Result<String, String> {
    match is_resource_name(name) {
        true => Ok(name.to_owned()),
        false => Err("names have up to 253 lower-case letters, digits, - and ., and begin and end with a letter or digit".to_owned()),
    }
}

/// Parses `recorded`, `any`, or names of namespaces.
fn namespaces(text: &str) -> Result<AllowedNamespaces, String> {
    if text == "any" {
        return Ok(AllowedNamespaces::Any);
    }
    let mut and = 0;
    for word in text.split(',').filter(|word| *word != "recorded") {
        let known = systemd::namespaces().find(|(name, _)| *name == word);
        let (_, flag) = known.ok_or_else(|| {
            let names: Vec<&str> = systemd::namespaces().map(|(name, _)| name).collect();
            format!(
                "{word} is not a namespace: expected recorded, any, or some of {}",
                names.join(",")
            )
        })?;
        and |= flag;
    }
    Ok(AllowedNamespaces::Recorded { and })
}

/// The version of systemd for which a unit is, unless another one is given.
fn assumed_systemd() -> u16 {
    InstalledSystemd::find().map_or(NEWEST_SYSTEMD, |installed| installed.version.number())
}

impl GenerateArgs {
    /// The name of the Kubernetes resource: the given one, or else that of the output file if it is valid.
    fn resource_name(&self) -> String {
        let stem = self.output.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str);
        let stem = stem.filter(|stem| is_resource_name(stem));
        self.name.as_deref().or(stem).unwrap_or("generated-profile").to_owned()
    }

    /// Whether --name has no effect.
    pub(super) fn has_unused_name(&self) -> bool {
        let has_name = self.to.writer().is_some_and(|writer| writer.naming.is_some());
        self.name.is_some() && !has_name
    }

    /// Whether namespaces were asked for by name.
    pub(super) fn names_namespaces(&self) -> bool {
        matches!(self.namespaces, AllowedNamespaces::Recorded { and: 1.. })
    }

    /// Whether everything that the code of the programs can make is granted.
    pub(super) fn grants_code(&self) -> bool {
        match self.grant {
            Some(grant) => grant == GrantArg::Static,
            None => self.recordings.is_empty(),
        }
    }

    /// The systemd for which a unit is, in words, if it is assumed.
    pub(super) fn assumed_systemd(&self) -> Option<String> {
        let is_unit = self.to.annotated().is_some_and(|to| to.is_unit) && self.systemd.is_none();
        is_unit.then(|| match InstalledSystemd::find() {
            Some(installed) => format!("{installed} (--systemd)"),
            None => format!("systemd {NEWEST_SYSTEMD} (--systemd)"),
        })
    }

    /// The format of the profile.
    pub(super) fn profile_format(&self) -> LanguageId {
        self.to
    }

    /// How the profile of --update is read.
    pub(super) fn reading(&self) -> SourceOptions {
        SourceOptions::of(&self.arch, self.strict, self.caps)
    }

    /// How the profile is generated.
    pub(super) fn options(&self) -> GenerateOptions {
        let usual = || {
            let name = self.to.annotated().map_or("", |to| to.runtime);
            Runtime::from_name(name).unwrap_or(Runtime::None)
        };
        let runtime = self.runtime.unwrap_or_else(usual);
        GenerateOptions {
            arches: self.arch.clone(),
            complete: matches!(self.complete, Switch::On),
            arguments: match self.args {
                ArgumentsArg::Stable => LimitedArgs::Stable,
                ArgumentsArg::All => LimitedArgs::All,
                ArgumentsArg::Off => LimitedArgs::Off,
            },
            deny: match self.deny {
                DenyArg::Enosys => DenyAction::Enosys,
                DenyArg::Eperm => DenyAction::Eperm,
                DenyArg::Kill => DenyAction::Kill,
                DenyArg::Log => DenyAction::Log,
            },
            runtime,
            systemd: self.systemd.unwrap_or_else(assumed_systemd),
            namespaces: self.namespaces,
            runtime_calls: matches!(self.runtime_calls, Switch::On),
            resource: self.resource_name(),
            partial: self.partial,
        }
    }
}
