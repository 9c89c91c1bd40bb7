//! The options that subcommands share: how a source is to be read, and how it is to be compiled.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use callgate::codegen::{Aim, Count, Model, Weights};
use callgate::compile;
use callgate::counts::{self, ReadCounts};
use callgate::diagram::Budget;
use callgate::frontend::{CapSet, oci};
use callgate::syscalls::KernelVersion;
use callgate::{Arch, Endian};
use clap::{ValueEnum, ValueHint};

use crate::report::{self, Failure, Result};
use crate::source::Place;

/// How sources are read. Options that no source needs have no effect, which is said in a warning.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SourceOptions {
    /// The architecture the filter is for; may be repeated [default: what the source says for this
    /// machine, its 32-bit interfaces included]
    #[arg(long, value_name = "ARCH", value_parser = parse_arch, help_heading = "Reading")]
    pub(crate) arch: Vec<Arch>,

    /// The kernel that a profile's version conditions ask about: a version, or "running" [default:
    /// running]
    #[arg(long, value_name = "X.Y", help_heading = "Reading")]
    pub(crate) kernel: Option<KernelArg>,

    /// The capabilities that a profile's conditions ask about: docker (its default set), all, none,
    /// or a list such as CAP_CHOWN,CAP_SYS_ADMIN or docker,CAP_SYS_PTRACE [default: docker]
    #[arg(long, value_name = "CAPS", help_heading = "Reading")]
    caps: Option<CapSet>,

    /// Whether calls newer than any that a profile names fail with ENOSYS: on (runc 1.1.15, 1.2 and
    /// later), runc-1.1 (1.1.3 to 1.1.14: only on architectures that the profile lists) or off (crun)
    /// [default: on for the dialects docker and runc, else off]
    #[arg(long, value_name = "HOW", help_heading = "Reading")]
    enosys_above: Option<EnosysArg>,

    /// Take unknown names of calls as errors
    #[arg(long, help_heading = "Reading")]
    pub(crate) strict: bool,

    /// The byte order of a program [default: that of --arch, else of this machine]
    #[arg(long, value_name = "ORDER", help_heading = "Reading")]
    endian: Option<EndianArg>,
}

/// A kernel that is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KernelArg {
    /// `running`: this one.
    Running,
    Version(KernelVersion),
    /// No kernel at all but a source, where a command takes `--kernel` without a value.
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
    /// What running a filter costs on the kernel it is for [default: cached]
    #[arg(long, value_name = "MODEL", help_heading = "Compiling")]
    model: Option<ModelArg>,

    /// What comes first: the expected cost of a call, or the length of the program
    /// [default: speed]
    ///
    /// For speed, an instruction more in the program still has a small price, because code fills
    /// cache lines even when it is not executed.
    #[arg(long, value_name = "AIM", help_heading = "Compiling")]
    optimize: Option<AimArg>,

    /// How often calls happen: a name and a count per line, the tables of strace -c or perf trace -s, a log,
    /// or a recording [default: all always-allowed calls alike]
    ///
    /// A recording in JSON counts for each architecture that it names; other counts are for the first
    /// architecture of the filter. Unknown names are left out with a warning; with --strict they are
    /// errors.
    ///
    /// Without this option every call of the first architecture that the filter always allows is
    /// taken to be equally frequent. Calls without a count get a tenth of all weight together when
    /// they are always allowed, and a hundredth when they are not: nothing is known of them, so they
    /// only decide between programs that are otherwise equal.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Compiling")]
    weights: Option<PathBuf>,
}

/// The form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For machines; the keys are stable
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
    /// Linux before 5.11: all calls pay for each executed instruction, interpreted or native.
    /// `interpreter` and `jit` are aliases
    #[value(aliases = ["interpreter", "jit"])]
    Uncached,
    /// Linux 5.11 and later: calls that are always allowed cost next to nothing, others pay for each
    /// executed instruction
    Cached,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AimArg {
    /// The fewest executed instructions per call; one in the program costs a little too
    Speed,
    /// The fewest instructions in the program, then the fewest executed
    Size,
}

/// The budget where somebody else's programs are read, whatever they compute: an answer within half a
/// second (0.26 s was the most for 150 random programs with arithmetic), and below 100 MB. Filters in use
/// need some ten thousand nodes. `compile` has the larger default, because policies of ten thousand rules
/// that fit into a program may need it.
pub(crate) const PROMPT: Budget = Budget { nodes: 800_000, steps: 4_000_000 };

impl From<ModelArg> for Model {
    fn from(model: ModelArg) -> Model {
        match model {
            ModelArg::Uncached => Model::Uncached,
            ModelArg::Cached => Model::Cached,
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
        Failure::new(format!("the architecture {} is not known here", std::env::consts::ARCH))
            .help("name one with --arch")
    })
}

pub(crate) fn parse_arch(name: &str) -> std::result::Result<Arch, String> {
    Arch::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        format!("known are {}", names.join(", "))
    })
}

impl SourceOptions {
    /// The same, with the native architecture alone as the default.
    pub(crate) fn native(&self) -> Result<SourceOptions> {
        let mut options = self.clone();
        if options.arch.is_empty() {
            options.arch = vec![native_arch()?];
        }
        Ok(options)
    }

    /// The same, with defaults for rules that libseccomp can compile as well: the native architecture, and without
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

    /// The byte order of a program.
    pub(crate) fn of_program(&self) -> Result<Endian> {
        let of_arch = self.arch.first().map(|arch| arch.endian());
        let given = self.endian.map(Endian::from);
        if let Some(odd) = self.arch.iter().find(|arch| Some(arch.endian()) != given.or(of_arch)) {
            return Err(Failure::new(format!(
                "the byte order of {odd} is not that of the other options"
            ))
            .help("give --endian alone, or architectures of one byte order"));
        }
        Ok(given.or(of_arch).unwrap_or(NATIVE_ENDIAN))
    }

    /// Whether the byte order of a program is given, and not just that of this machine.
    pub(crate) fn fixes_endian(&self) -> bool {
        self.endian.is_some() || !self.arch.is_empty()
    }

    /// Says which of the given options no source needs: `profile` and `program` are whether one of the
    /// sources is such, and `counts` whether counts are read too.
    pub(crate) fn warn_about_unused(&self, profile: bool, program: bool, counts: bool) {
        let of_profiles = [
            ("--kernel", matches!(self.kernel, Some(KernelArg::Version(_)))),
            ("--caps", self.caps.is_some()),
            ("--enosys-above", self.enosys_above.is_some()),
            ("--strict", self.strict && !counts),
        ];
        for (option, _) in of_profiles.into_iter().filter(|(_, given)| *given && !profile) {
            report::warn(
                format!("{option} has no effect: no source is a profile"),
                "leave it out: a program means what it means everywhere",
            );
        }
        if self.endian.is_some() && !program {
            report::warn(
                "--endian has no effect: no source is a program",
                "leave it out: a profile has the byte order of its architectures (--arch)",
            );
        }
    }

    /// The options as a command line says them, for commands that are shown to people.
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
        let help = "name a version, such as --kernel 6.12";
        let release = callgate_linux::kernel::release().map_err(|error| {
            let why = callgate_linux::error_text(&error);
            Failure::new(format!("the kernel does not tell its version: {why}")).help(help)
        })?;
        release.parse().map_err(|_| {
            Failure::new(format!("the kernel's version \"{release}\" is not understood")).help(help)
        })
    }
}

/// Whether some of the counts are for these architectures; says so when not, for they are probably not meant
/// for this filter.
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
            format!("it counts no call of {}, so it has no effect", names.join(", ")),
            "a recording counts for the architectures that it names".to_owned(),
        )
    } else {
        (
            format!("it counts no call of {first}, so it has no effect"),
            format!("counts are taken for the first architecture, {first} here"),
        )
    };
    report::warn_about(name, message, help);
    false
}

impl CompileOptions {
    /// Which of the options are given, as a command line names them.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--model", self.model.is_some()),
            ("--optimize", self.optimize.is_some()),
            ("--weights", self.weights.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Says that the options given have no effect on this input, and why.
    pub(crate) fn warn_about_given(&self, name: &str, why: &str, help: &str) {
        for option in self.given() {
            report::warn_about(name, format!("{option} has no effect: {why}"), help);
        }
    }

    /// The same where programs are measured as they are: weights say then which calls.
    pub(crate) fn warn_without_profiles(&self) {
        for option in self.given().filter(|option| *option != "--weights") {
            report::warn(
                format!("{option} has no effect: no source is a profile"),
                "leave it out; `callgate optimize` makes a better program of one",
            );
        }
    }

    /// Whether it is said how often calls happen.
    pub(crate) fn has_weights(&self) -> bool {
        self.weights.is_some()
    }

    /// What the compiler is told about a filter for these architectures. The file of weights is read;
    /// with `strict`, unknown names in it are errors.
    pub(crate) fn read(&self, arches: &[Arch], strict: bool) -> Result<compile::Options> {
        let weights = match &self.weights {
            None => Weights::uniform(),
            Some(path) => {
                let place = Place::of_path(path);
                let first = arches.first().copied().map_or_else(native_arch, Ok)?;
                let mut reader = counts::CountReader::new(first, strict);
                let failed = |errors| Failure::of(place.name(), errors);
                place.read_log(|piece| reader.push(piece).map_err(failed))?;
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
            weights,
            ..compile::Options::default()
        })
    }

    /// The same for every model and aim, or for those alone that are given.
    pub(crate) fn read_all(&self, arches: &[Arch], strict: bool) -> Result<Vec<compile::Options>> {
        let one = self.read(arches, strict)?;
        let models: &[Model] = if self.model.is_some() { &[one.model] } else { Model::ALL };
        let aims: &[Aim] = if self.optimize.is_some() { &[one.aim] } else { Aim::ALL };
        let pairs = aims.iter().flat_map(|aim| models.iter().map(|model| (*aim, *model)));
        Ok(pairs.map(|(aim, model)| compile::Options { aim, model, ..one.clone() }).collect())
    }

    /// The option for weights as a command line says it, for commands that are shown to people.
    pub(crate) fn weights_arguments(&self) -> Vec<String> {
        let path = self.weights.as_ref().map(|path| path.display().to_string());
        path.into_iter().flat_map(|path| ["--weights".to_owned(), path]).collect()
    }

    /// All options as a command line says them.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let model = self.model.map(|model| format!("--model={}", Model::from(model).name()));
        let aim = self.optimize.map(|aim| format!("--optimize={}", Aim::from(aim).name()));
        model.into_iter().chain(aim).chain(self.weights_arguments()).collect()
    }
}
