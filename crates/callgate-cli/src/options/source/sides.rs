//! Options about reading for one of two filters: `--caps-a`, `--caps-b`.

use callgate::Arch;
use callgate_formats::CapSet;
use callgate_formats::systemd::SystemdVersion;
use clap::ValueHint;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::base::BaseFile;
use super::options::SourceOptions;
use super::values::{EnosysArg, KernelArg, SemanticsArg};
use crate::options::parse::ArchParser;

/// The options of one filter, which take precedence over those of both. A sentence of the help replaces them there;
/// completions list them.
macro_rules! side_options {
    ($name:ident, $suffix:literal, $filter:literal) => {
        #[doc = concat!("The options that affect only filter ", $filter, ".")]
        #[derive(Clone, Debug, Default, clap::Args)]
        pub(crate) struct $name {
            #[arg(id = concat!("arch", $suffix), long = concat!("arch", $suffix), hide = true,
                  help = concat!("As --arch, for filter ", $filter, " only"),
                  value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true)]
            arch: Vec<Arch>,
            #[arg(id = concat!("kernel", $suffix), long = concat!("kernel", $suffix), hide = true,
                  help = concat!("As --kernel, for filter ", $filter, " only"), value_name = "X.Y")]
            kernel: Option<KernelArg>,
            #[arg(id = concat!("caps", $suffix), long = concat!("caps", $suffix), hide = true,
                  help = concat!("As --caps, for filter ", $filter, " only"), value_name = "CAPS")]
            caps: Option<CapSet>,
            #[arg(id = concat!("enosys-above", $suffix), long = concat!("enosys-above", $suffix), hide = true,
                  help = concat!("As --enosys-above, for filter ", $filter, " only"), value_name = "HOW")]
            enosys_above: Option<EnosysArg>,
            #[arg(id = concat!("base", $suffix), long = concat!("base", $suffix), hide = true,
                  help = concat!("As --base, for filter ", $filter, " only"), value_name = "[NAME=]FILE",
                  value_hint = ValueHint::FilePath, value_parser = OsStringValueParser::new().map(BaseFile::parse))]
            base: Vec<BaseFile>,
            #[arg(id = concat!("systemd", $suffix), long = concat!("systemd", $suffix), hide = true,
                  help = concat!("As --systemd, for filter ", $filter, " only"), value_name = "VERSION")]
            systemd: Option<SystemdVersion>,
            #[arg(id = concat!("minijail-semantics", $suffix), long = concat!("minijail-semantics", $suffix), hide = true,
                  help = concat!("As --minijail-semantics, for filter ", $filter, " only"), value_name = "COMPILER")]
            minijail_semantics: Option<SemanticsArg>,
        }

        impl $name {
            /// What the names of these options end with.
            pub(crate) const SUFFIX: &str = $suffix;

            /// These options alone.
            pub(crate) fn own(&self) -> SourceOptions {
                SourceOptions {
                    arch: self.arch.clone(),
                    kernel: self.kernel.clone(),
                    caps: self.caps,
                    enosys_above: self.enosys_above,
                    base: self.base.clone(),
                    systemd: self.systemd,
                    minijail_semantics: self.minijail_semantics,
                    ..SourceOptions::default()
                }
            }
        }
    };
}

side_options!(OptionsOfA, "-a", "A");
side_options!(OptionsOfB, "-b", "B");

impl SourceOptions {
    /// These options, whose names end with `suffix`, and where they have no value, the options of both filters.
    pub(crate) fn or(&self, suffix: &'static str, both: &SourceOptions) -> SourceOptions {
        fn either<T: Clone>(own: &[T], both: &[T]) -> Vec<T> {
            if own.is_empty() { both.to_vec() } else { own.to_vec() }
        }
        SourceOptions {
            arch: either(&self.arch, &both.arch),
            kernel: self.kernel.clone().or_else(|| both.kernel.clone()),
            caps: self.caps.or(both.caps),
            enosys_above: self.enosys_above.or(both.enosys_above),
            base: self.base.iter().chain(&both.base).cloned().collect(),
            systemd: self.systemd.or(both.systemd),
            minijail_semantics: self.minijail_semantics.or(both.minijail_semantics),
            libseccomp: both.libseccomp,
            runc: both.runc,
            crun: both.crun,
            include_root: both.include_root.clone(),
            set: both.set.clone(),
            strict: self.strict || both.strict,
            endian: self.endian.or(both.endian),
            machine: self.machine.or(both.machine),
            macros: both.macros.clone(),
            statements: self.statements || both.statements,
            without_runtime_rules: both.without_runtime_rules,
            keeps_warnings: self.keeps_warnings || both.keeps_warnings,
            warns_later: self.warns_later || both.warns_later,
            is_for_kernel: self.is_for_kernel || both.is_for_kernel,
            own: Some((suffix, Box::new(self.clone()))),
        }
    }
}
