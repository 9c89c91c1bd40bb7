//! Options about how filters are compiled.

use callgate_bpf::SyscallTable;
use std::path::PathBuf;

use callgate::Arch;
use callgate::compile;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_bpf::syscalls::KernelVersion;
use callgate_codegen::{Aim, Count, Instructions, Model, Weights};
use callgate_trace::counts::{self, ReadCounts};
use clap::{ValueEnum, ValueHint};

use super::machine::native_arch;
use crate::report::{self, Failure, Result};
use crate::source::Place;

/// How profiles are compiled.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompileOptions {
    /// The cost model of the target kernel, if there are no weights [default: cached, or that of --kernel]
    #[arg(long, value_name = "MODEL", help_heading = "Compiling")]
    model: Option<ModelArg>,

    /// The optimization goal: the expected cost per syscall, the length of the program, or a short
    /// compilation [default: speed]
    ///
    /// With speed, each additional instruction still has a small cost, because code fills cache
    /// lines even if it is not executed. With quick, no better program is searched for.
    #[arg(long, value_name = "AIM", help_heading = "Compiling")]
    optimize: Option<AimArg>,

    /// The instructions that the program may contain [default: all]
    ///
    /// Some simulators, translators and verifiers of filters know only a few instructions. With
    /// basic, programs contain only those that libseccomp's simulator scmp_bpf_sim executes: ld of a
    /// word, and, jeq, jge, ja and ret. container-default for x86_64 has 74 instructions then instead
    /// of 67, and calls with conditions execute 10.57 instead of 9.78.
    #[arg(long, value_name = "SET", help_heading = "Compiling")]
    instructions: Option<InstructionsArg>,

    /// The frequencies of syscalls: a name and a count per line, a table of strace -c or perf trace -s, a
    /// log, or a recording [default: see below]
    ///
    /// A recording in JSON has counts per architecture; other counts are for the first architecture of
    /// the filter. Unknown names are skipped with a warning, or are errors with --strict.
    ///
    /// Without this option, calls that are always allowed have 45 % of the cost, calls with conditions
    /// 45 %, and denied ones 10 %; with --model uncached, calls that are always allowed have nearly all
    /// of it. With this option, counts are taken as they are, and calls without a count have so little
    /// weight that they only decide between programs that are otherwise equal.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Compiling")]
    weights: Option<PathBuf>,

    /// The kernel that executes the program, if it is known.
    #[arg(skip)]
    kernel: Option<KernelVersion>,
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
    /// A good program in a short time, without a search for better ones
    Quick,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum InstructionsArg {
    /// All that the kernel accepts
    All,
    /// Without jset, the X register, scratch memory and shifts
    Basic,
}

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
            AimArg::Quick => Aim::Quick,
        }
    }
}

impl CompileOptions {
    /// Like `self`, for a program that this kernel executes.
    pub(crate) fn for_kernel(&self, kernel: Option<KernelVersion>) -> CompileOptions {
        CompileOptions { kernel, ..self.clone() }
    }

    /// The cost model of the kernel.
    fn model(&self) -> Model {
        let of_kernel = || self.kernel.map_or_else(Model::default, Model::of_kernel);
        self.model.map_or_else(of_kernel, Model::from)
    }

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

    /// The name of the file of --weights.
    pub(crate) fn weights_name(&self) -> Option<String> {
        self.weights.as_deref().map(|path| Place::of_path(path).name())
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
            model: self.model(),
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
