//! Options that subcommands share: for reading sources and for compiling them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use callgate::codegen::{Aim, Count, Instructions, Model, Weights};
use callgate::compile;
use callgate::convert::{ConvertOptions, Target};
use callgate::counts::{self, ReadCounts};
use callgate::diagnostic::Diagnostics;
use callgate::diagram::Budget;
use callgate::formats::systemd::{self, SystemdVersion};
use callgate::formats::{CapSet, firecracker, kafel, lxc, minijail, oci, snap};
use callgate::syscalls::KernelVersion;
use callgate::{Arch, Endian};
use clap::{ValueEnum, ValueHint};

use crate::report::{self, Failure, Result};
use crate::source::Place;

/// How sources are read. Warns about options that affect none of the sources.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SourceOptions {
    /// The architecture of the filter; may be repeated [default: those of the source that this machine
    /// supports, including its 32-bit ABIs]
    #[arg(long, value_name = "ARCH", value_parser = parse_arch, help_heading = "Reading")]
    pub(crate) arch: Vec<Arch>,

    /// The kernel version for the conditions of a profile, or "running" [default: running]
    #[arg(long, value_name = "X.Y", help_heading = "Reading")]
    pub(crate) kernel: Option<KernelArg>,

    /// The capabilities for the conditions of a profile: docker (Docker's default set), all, none,
    /// or a list such as CAP_CHOWN,CAP_SYS_ADMIN or docker,CAP_SYS_PTRACE [default: docker]
    #[arg(long, value_name = "CAPS", help_heading = "Reading")]
    caps: Option<CapSet>,

    /// Whether syscalls newer than all that a profile names fail with ENOSYS: on (runc 1.1.15, 1.2 and
    /// later), runc-1.1 (1.1.3 to 1.1.14: only on architectures that the profile lists) or off (crun)
    /// [default: on for the dialects docker and runc, otherwise off]
    #[arg(long, value_name = "HOW", help_heading = "Reading")]
    enosys_above: Option<EnosysArg>,

    /// The version of systemd for unit files and directives, 252 to 258 [default: 258]
    #[arg(long, value_name = "VERSION", help_heading = "Reading")]
    systemd: Option<SystemdVersion>,

    /// Treat unknown syscall names as errors
    #[arg(long, help_heading = "Reading")]
    pub(crate) strict: bool,

    /// The byte order of a program [default: that of --arch, otherwise of this machine]
    #[arg(long, value_name = "ORDER", help_heading = "Reading")]
    endian: Option<EndianArg>,
}

/// A kernel on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KernelArg {
    /// `running`: that of this machine.
    Running,
    Version(KernelVersion),
    /// Not a kernel but the source, after `--kernel` without a value.
    Source(OsString),
}

impl FromStr for KernelArg {
    type Err = <KernelVersion as FromStr>::Err;

    fn from_str(text: &str) -> std::result::Result<KernelArg, Self::Err> {
        Ok(if text == RUNNING { KernelArg::Running } else { KernelArg::Version(text.parse()?) })
    }
}

/// The name of the running kernel for `--kernel`.
pub(crate) const RUNNING: &str = "running";

/// How profiles are compiled.
#[derive(Debug, clap::Args)]
pub(crate) struct CompileOptions {
    /// The cost model of the target kernel [default: cached]
    #[arg(long, value_name = "MODEL", help_heading = "Compiling")]
    model: Option<ModelArg>,

    /// The optimization goal: the expected cost per syscall, or the length of the program
    /// [default: speed]
    ///
    /// With speed, each additional instruction still has a small cost, because code fills cache
    /// lines even if it is not executed.
    #[arg(long, value_name = "AIM", help_heading = "Compiling")]
    optimize: Option<AimArg>,

    /// The instructions that the program may contain [default: all]
    ///
    /// Some simulators, translators and verifiers of filters know only a few instructions. With
    /// basic, programs contain only those that libseccomp's simulator scmp_bpf_sim executes: ld of a
    /// word, and, jeq, jge, ja and ret. container-default for x86_64 has 78 instructions then instead
    /// of 71, and a syscall executes 8.79 instead of 8.76.
    #[arg(long, value_name = "SET", help_heading = "Compiling")]
    instructions: Option<InstructionsArg>,

    /// The frequencies of syscalls: a name and a count per line, a table of strace -c or perf trace -s, a
    /// log, or a recording [default: equal for all always-allowed syscalls]
    ///
    /// A recording in JSON has counts per architecture; other counts are for the first architecture of
    /// the filter. Unknown names are skipped with a warning, or are errors with --strict.
    ///
    /// Without this option, all syscalls of the first architecture that the filter always allows are
    /// assumed to be equally frequent. With it, syscalls without a count share a tenth of the total
    /// weight if they are always allowed, and a hundredth otherwise, so that they only decide between
    /// programs that are otherwise equal.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Compiling")]
    weights: Option<PathBuf>,
}

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Text,
    /// JSON with stable keys
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EnosysArg {
    On,
    #[value(name = "runc-1.1")]
    Runc1_1,
    Off,
}

impl From<EnosysArg> for oci::EnosysAbove {
    fn from(given: EnosysArg) -> oci::EnosysAbove {
        match given {
            EnosysArg::On => oci::EnosysAbove::On,
            EnosysArg::Runc1_1 => oci::EnosysAbove::Runc1_1,
            EnosysArg::Off => oci::EnosysAbove::Off,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EndianArg {
    Little,
    Big,
}

impl From<EndianArg> for Endian {
    fn from(order: EndianArg) -> Endian {
        match order {
            EndianArg::Little => Endian::Little,
            EndianArg::Big => Endian::Big,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModelArg {
    /// Linux before 5.11: every executed instruction costs, interpreted or compiled. Aliases:
    /// interpreter, jit
    #[value(aliases = ["interpreter", "jit"])]
    Uncached,
    /// Linux 5.11 and later: always-allowed syscalls are cached and cost nothing, the others cost as
    /// with uncached
    Cached,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AimArg {
    /// The fewest executed instructions per syscall; program length has a small cost
    Speed,
    /// The shortest program, then the fewest executed instructions
    Size,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum InstructionsArg {
    /// All that the kernel accepts
    All,
    /// Without jset, the X register, scratch memory and shifts
    Basic,
}

/// The budget for arbitrary programs: at most half a second (0.26 s was the maximum for 150 random programs
/// with arithmetic) and 100 MB. Filters in use need some ten thousand nodes. `compile` has the larger default,
/// because policies of ten thousand rules that fit into a program may need it.
pub(crate) const PROMPT: Budget = Budget { nodes: 800_000, steps: 4_000_000 };

impl From<ModelArg> for Model {
    fn from(model: ModelArg) -> Model {
        match model {
            ModelArg::Uncached => Model::Uncached,
            ModelArg::Cached => Model::Cached,
        }
    }
}

impl From<InstructionsArg> for Instructions {
    fn from(set: InstructionsArg) -> Instructions {
        match set {
            InstructionsArg::All => Instructions::All,
            InstructionsArg::Basic => Instructions::Basic,
        }
    }
}

impl From<AimArg> for Aim {
    fn from(aim: AimArg) -> Aim {
        match aim {
            AimArg::Speed => Aim::Speed,
            AimArg::Size => Aim::Size,
        }
    }
}

/// The byte order of this machine.
pub(crate) const NATIVE_ENDIAN: Endian =
    if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

/// The architecture of this machine.
pub(crate) fn native_arch() -> Result<Arch> {
    Arch::native().ok_or_else(|| {
        Failure::new(format!(
            "unsupported architecture of this machine: {}",
            std::env::consts::ARCH
        ))
        .help("select an architecture with --arch")
    })
}

/// Parses a number without a sign, at most `max`.
pub(crate) fn parse_at_most(text: &str, max: u64) -> std::result::Result<u64, String> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_digits && *number <= max);
    number.ok_or_else(|| format!("expected a number from 0 to {max}"))
}

/// [`parse_at_most`] for options that take any 64-bit number.
pub(crate) fn parse_u64(text: &str) -> std::result::Result<u64, String> {
    parse_at_most(text, u64::MAX)
}

/// [`parse_at_most`] for a number of seconds or the like.
pub(crate) fn parse_u32(text: &str) -> std::result::Result<u32, String> {
    parse_at_most(text, u32::MAX.into()).map(|number| number as u32)
}

pub(crate) fn parse_arch(name: &str) -> std::result::Result<Arch, String> {
    Arch::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        format!("the architectures are {}", names.join(", "))
    })
}

impl SourceOptions {
    /// Like `self`, but the default architecture is the native one alone.
    pub(crate) fn native(&self) -> Result<SourceOptions> {
        let mut options = self.clone();
        if options.arch.is_empty() {
            options.arch = vec![native_arch()?];
        }
        Ok(options)
    }

    /// Like `self`, with defaults for rules that libseccomp can compile, too: the native architecture, and without
    /// ENOSYS for new numbers, which runc adds to libseccomp's program.
    pub(crate) fn for_libseccomp(&self) -> Result<SourceOptions> {
        let mut options = self.native()?;
        options.enosys_above.get_or_insert(EnosysArg::Off);
        Ok(options)
    }

    /// How a profile is read.
    pub(crate) fn of_profile(&self, dialect: Option<oci::Dialect>) -> Result<oci::ReadOptions> {
        Ok(oci::ReadOptions {
            dialect,
            arches: self.arch.clone(),
            native: match self.arch.first() {
                Some(arch) => *arch,
                None => native_arch()?,
            },
            caps: self.caps.unwrap_or_else(CapSet::docker),
            kernel: self.kernel()?,
            enosys_above: self.enosys_above.map(oci::EnosysAbove::from),
            strict: self.strict,
        })
    }

    /// How a unit of systemd is read.
    pub(crate) fn of_unit(&self) -> Result<systemd::ReadOptions> {
        let native = self.host()?;
        let mut options = systemd::ReadOptions::new(native, self.kernel()?);
        options.version = self.systemd.unwrap_or(SystemdVersion::LATEST);
        options.strict = self.strict;
        let built_for = options.arches();
        let is_other = |arch: &&Arch| **arch != native && !built_for.contains(arch);
        if let Some(other) = self.arch.iter().find(is_other) {
            return Err(Failure::new(format!(
                "systemd for {native} installs no filters for {other}, so a unit is not read for both"
            ))
            .help(format!("give only --arch {native}, or only --arch {other}")));
        }
        Ok(options)
    }

    /// How a Kafel policy is read.
    pub(crate) fn of_kafel(&self) -> Result<kafel::ReadOptions> {
        let arches = if self.arch.is_empty() { vec![native_arch()?] } else { self.arch.clone() };
        Ok(kafel::ReadOptions { arches })
    }

    /// How a profile of LXC is read.
    pub(crate) fn of_lxc(&self) -> Result<lxc::ReadOptions> {
        Ok(lxc::ReadOptions { native: self.host()?, strict: self.strict })
    }

    /// How a profile of a snap is read.
    pub(crate) fn of_snap(&self) -> Result<snap::ReadOptions> {
        Ok(snap::ReadOptions { native: self.host()?, strict: self.strict })
    }

    /// The architecture of the host: the first of --arch with 64 bits, or the first.
    fn host(&self) -> Result<Arch> {
        let wide = self.arch.iter().find(|arch| arch.is_64bit());
        wide.or(self.arch.first()).map_or_else(native_arch, |arch| Ok(*arch))
    }

    /// How a document of Firecracker is read.
    pub(crate) fn of_firecracker(&self) -> Result<firecracker::ReadOptions> {
        Ok(firecracker::ReadOptions::new(self.only_arch("a filter of Firecracker")?))
    }

    /// How a policy of minijail is read.
    pub(crate) fn of_minijail(&self) -> Result<minijail::ReadOptions> {
        Ok(minijail::ReadOptions::new(self.only_arch("a policy of minijail")?))
    }

    /// The architecture of a source that is for one only, such as "a filter of Firecracker".
    fn only_arch(&self, what: &str) -> Result<Arch> {
        match self.arch.as_slice() {
            [] => native_arch(),
            [first, others @ ..] if others.iter().all(|other| other == first) => Ok(*first),
            arches => {
                let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
                Err(Failure::new(format!(
                    "{what} is for one architecture, not for {}",
                    names.join(", ")
                ))
                .help("give --arch once, and compile a filter for each architecture"))
            }
        }
    }

    /// Warns about options that only affect profiles of containers. `what` the source is; `has_kernel` tells whether it
    /// depends on the kernel, too.
    pub(crate) fn warn_about_containers(&self, name: &str, what: &str, has_kernel: bool) {
        let given = [
            ("--kernel", matches!(self.kernel, Some(KernelArg::Version(_))) && !has_kernel),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
        ];
        for (option, _) in given.into_iter().filter(|(_, given)| *given) {
            report::warn_about(
                name,
                format!("{option} has no effect on {what}"),
                "omit it: only container profiles have conditions that depend on it",
            );
        }
    }

    /// The byte order of a program.
    pub(crate) fn of_program(&self) -> Result<Endian> {
        let of_arch = self.arch.first().map(|arch| arch.endian());
        let given = self.endian.map(Endian::from);
        if let Some(odd) = self.arch.iter().find(|arch| Some(arch.endian()) != given.or(of_arch)) {
            return Err(Failure::new(format!(
                "the byte order of {odd} contradicts the other options"
            ))
            .help("give only --endian, or architectures with the same byte order"));
        }
        Ok(given.or(of_arch).unwrap_or(NATIVE_ENDIAN))
    }

    /// Whether the options determine the byte order of a program.
    pub(crate) fn fixes_endian(&self) -> bool {
        self.endian.is_some() || !self.arch.is_empty()
    }

    /// Warns about options that affect no source: `profile` and `program` tell whether such a source
    /// exists, `unit` whether one is of systemd, `counts` whether counts are read, too.
    pub(crate) fn warn_about_unused(&self, profile: bool, program: bool, unit: bool, counts: bool) {
        let of_profiles = [
            ("--kernel", matches!(self.kernel, Some(KernelArg::Version(_)))),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
            ("--strict", self.strict && !counts),
        ];
        for (option, _) in of_profiles.into_iter().filter(|(_, given)| *given && !profile) {
            report::warn(
                format!("{option} has no effect: no source is a profile"),
                "omit it: only profiles have conditions that depend on it",
            );
        }
        if self.systemd.is_some() && !unit {
            report::warn(
                "--systemd has no effect: no source is a unit of systemd",
                "omit it, or write systemd: before the source",
            );
        }
        if self.endian.is_some() && !program {
            report::warn(
                "--endian has no effect: no source is a program",
                "omit it: the byte order of a profile is that of its architectures (--arch)",
            );
        }
    }

    /// How a policy is written in a language and read back.
    pub(crate) fn to_convert(&self, target: Target) -> Result<ConvertOptions> {
        let mut options = ConvertOptions::new(target);
        options.kernel = self.kernel()?;
        options.enosys_above = self.enosys_above.map(oci::EnosysAbove::from);
        options.systemd = self.systemd.unwrap_or(SystemdVersion::LATEST);
        Ok(options)
    }

    /// The options without those that affect how a policy in this language is read.
    pub(crate) fn without_those_of(&self, target: Target) -> SourceOptions {
        let mut options = self.clone();
        match target {
            Target::Oci | Target::Docker | Target::Podman | Target::Kubernetes => {
                (options.kernel, options.enosys_above) = (None, None);
            }
            Target::Systemd => (options.kernel, options.systemd) = (None, None),
            _ => {}
        }
        options
    }

    /// The options as words of a command line, for commands in messages.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let enosys = |value: &EnosysArg| match value {
            EnosysArg::On => "on",
            EnosysArg::Runc1_1 => "runc-1.1",
            EnosysArg::Off => "off",
        };
        let order = |order: &EndianArg| match order {
            EndianArg::Little => "little",
            EndianArg::Big => "big",
        };
        let kernel = match &self.kernel {
            Some(KernelArg::Version(version)) => Some(version.to_string()),
            Some(KernelArg::Running | KernelArg::Source(_)) | None => None,
        };
        let named = [
            ("--kernel", kernel),
            ("--caps", self.caps.map(|caps| caps.to_string())),
            ("--enosys-above", self.enosys_above.as_ref().map(|value| enosys(value).to_owned())),
            ("--systemd", self.systemd.map(|version| version.to_string())),
            ("--endian", self.endian.as_ref().map(|value| order(value).to_owned())),
        ];
        let arches = self.arch.iter().map(|arch| ("--arch", Some(arch.name().to_owned())));
        let mut arguments = Vec::new();
        for (name, value) in arches.chain(named) {
            arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        }
        arguments.extend(self.strict.then(|| "--strict".to_owned()));
        arguments
    }

    fn kernel(&self) -> Result<KernelVersion> {
        if let Some(KernelArg::Version(version)) = self.kernel {
            return Ok(version);
        }
        let help = "give a version, such as --kernel 6.12";
        let release = callgate_linux::kernel::release().map_err(|error| {
            let why = callgate_linux::error_text(&error);
            Failure::new(format!("cannot read the kernel version: {why}")).help(help)
        })?;
        release.parse().map_err(|_| {
            Failure::new(format!("cannot parse the kernel version \"{release}\"")).help(help)
        })
    }
}

/// Whether any count is for these architectures; warns if not, because the file probably belongs to another
/// filter.
fn has_counts_of(name: &str, counts: &[Count], arches: &[Arch]) -> bool {
    let Some(first) = arches.first() else { return true };
    let counted = |count: &Count| match count.arch {
        Some(arch) => arches.contains(&arch),
        None => first.number(&count.name).is_some(),
    };
    if counts.iter().any(counted) {
        return true;
    }
    let (message, help) = if counts.iter().all(|count| count.arch.is_some()) {
        let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        (
            format!("has no effect: it contains no counts for {}", names.join(", ")),
            "a recording has counts only for the architectures in it".to_owned(),
        )
    } else {
        (
            format!("has no effect: it contains no syscalls of {first}"),
            format!("counts are for the first architecture of the filter, here {first}"),
        )
    };
    report::warn_about(name, message, help);
    false
}

impl CompileOptions {
    /// The names of the given options.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--model", self.model.is_some()),
            ("--optimize", self.optimize.is_some()),
            ("--instructions", self.instructions.is_some()),
            ("--weights", self.weights.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Warns that the given options have no effect on this input.
    pub(crate) fn warn_about_given(&self, name: &str, why: &str, help: &str) {
        for option in self.given() {
            report::warn_about(name, format!("{option} has no effect: {why}"), help);
        }
    }

    /// Like [`Self::warn_about_given`] if programs are measured unchanged; weights then select syscalls.
    pub(crate) fn warn_without_profiles(&self) {
        for option in self.given().filter(|option| *option != "--weights") {
            report::warn(
                format!("{option} has no effect: no source is a profile"),
                "omit it; `callgate optimize` optimizes programs",
            );
        }
    }

    /// Whether --weights is given.
    pub(crate) fn has_weights(&self) -> bool {
        self.weights.is_some()
    }

    /// The options of the compiler for a filter of these architectures. Reads the file of weights; with
    /// `strict`, unknown names in it are errors.
    pub(crate) fn read(&self, arches: &[Arch], strict: bool) -> Result<compile::Options> {
        let weights = match &self.weights {
            None => Weights::uniform(),
            Some(path) => {
                let place = Place::of_path(path);
                let first = arches.first().copied().map_or_else(native_arch, Ok)?;
                let mut reader = counts::CountReader::new(first, strict);
                let failed = |errors: Diagnostics| Failure::of(place.name(), errors);
                place.read_log(|part| reader.add(part).map_err(failed))?;
                let ReadCounts { counts, warnings } = reader.finish().map_err(failed)?;
                report::warn_all(&place.name(), &warnings);
                if has_counts_of(&place.name(), &counts, arches) {
                    Weights::of(counts)
                        .map_err(|error| Failure::about(place.name(), error.to_string()))?
                } else {
                    Weights::uniform()
                }
            }
        };
        Ok(compile::Options {
            model: self.model.map_or(Model::default(), Model::from),
            aim: self.optimize.map_or(Aim::default(), Aim::from),
            instructions: self.instructions.map_or(Instructions::default(), Instructions::from),
            weights,
            ..compile::Options::default()
        })
    }

    /// Like [`Self::read`] for every model and aim that the options permit.
    pub(crate) fn read_all(&self, arches: &[Arch], strict: bool) -> Result<Vec<compile::Options>> {
        let one = self.read(arches, strict)?;
        let models: &[Model] = if self.model.is_some() { &[one.model] } else { Model::ALL };
        let aims: &[Aim] = if self.optimize.is_some() { &[one.aim] } else { Aim::ALL };
        let pairs = aims.iter().flat_map(|aim| models.iter().map(|model| (*aim, *model)));
        Ok(pairs.map(|(aim, model)| compile::Options { aim, model, ..one.clone() }).collect())
    }

    /// The options besides the model and the aim as words of a command line, for commands in messages.
    pub(crate) fn other_arguments(&self) -> Vec<String> {
        let set = self.instructions.map(Instructions::from);
        let set = set.map(|set| format!("--instructions={}", set.name()));
        let path = self.weights.as_ref().map(|path| path.display().to_string());
        let path = path.into_iter().flat_map(|path| ["--weights".to_owned(), path]);
        set.into_iter().chain(path).collect()
    }

    /// All options as words of a command line.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let model = self.model.map(|model| format!("--model={}", Model::from(model).name()));
        let aim = self.optimize.map(|aim| format!("--optimize={}", Aim::from(aim).name()));
        model.into_iter().chain(aim).chain(self.other_arguments()).collect()
    }
}
