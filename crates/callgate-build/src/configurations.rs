//! Filters for several configurations of a program, of which one is chosen when it starts.

use crate::files::Files;
use crate::generate::{Code, Generated};
use crate::message::Error;
use crate::policy::Policy;
use callgate::Arch;
use callgate::emit::{SourceLanguage, SourceOptions, parameters};
use callgate_core::template::Variable;
use std::fmt::Write;

/// The policies of several configurations of a program, which are compiled and proved at build time. The program chooses one by
/// its name when it starts.
///
/// The generated code has `NAME_CONFIGURATIONS`, the names; `NAME(configuration, …)`, the program of a configuration, or
/// `None`; and with [`installer`](Configurations::installer), functions like those of a [`Policy`] whose first parameter is
/// the configuration. The variables of all policies are further parameters; a policy uses those that it has.
///
/// For a configuration that is not among them, these functions install nothing and fail with `std::io::ErrorKind::NotFound`.
/// A program that has the compiler may compile the policy then, and install that: `examples/configurations` has it as a feature.
///
/// ```
/// use callgate_build::{Arch, Configurations, Policy};
///
/// let generated = Configurations::new("sandbox")
///     .add("offline", Policy::new("examples/sandbox.kafel"))
///     .add("online", Policy::new("examples/online.kafel"))
///     .installer(true)
///     .generate(Arch::X86_64)?;
/// let source = generated.source();
/// assert!(source.contains("pub const SANDBOX_CONFIGURATIONS: [&str; 2] = [\"offline\", \"online\"];"));
/// assert!(source.contains("pub fn install_sandbox(configuration: &str, controller_fd: u32) -> std::io::Result<()>"));
/// # Ok::<(), callgate_build::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Configurations {
    pub(crate) name: String,
    members: Vec<(String, Policy)>,
    installer: bool,
}

/// A function that installs a filter.
struct Installer {
    /// What its name ends with.
    suffix: &'static str,
    /// How it installs.
    what: &'static str,
    /// Its parameters before the values of variables: names and types.
    own: &'static [(&'static str, &'static str)],
}

const INSTALLERS: [Installer; 3] = [
    Installer { suffix: "", what: "in all threads of the process", own: &[] },
    Installer {
        suffix: "_in_thread",
        what: "in the calling thread, and in what it starts later",
        own: &[],
    },
    Installer {
        suffix: "_with",
        what: "with flags of seccomp(2), and without `no_new_privs` if that is false",
        own: &[("flags", "libc::c_ulong"), ("no_new_privs", "bool")],
    },
];

/// A configuration with the code of its policy.
struct Member<'c> {
    name: &'c str,
    code: &'c Code,
    /// The number of the module that has the code; configurations with the same code share one.
    module: usize,
}

impl Configurations {
    /// No configurations so far. The name is that of the functions and of the file of source code: an identifier.
    pub fn new(name: impl Into<String>) -> Configurations {
        Configurations { name: name.into(), members: Vec::new(), installer: false }
    }

    /// Adds a configuration. Its name may be any text. The name of the policy and its option `installer` are ignored: all
    /// configurations share those of this object.
    #[must_use]
    pub fn add(mut self, configuration: impl Into<String>, policy: Policy) -> Configurations {
        self.members.push((configuration.into(), policy));
        self
    }

    /// Whether there are functions that install the filter of a configuration, as [`Policy::installer`]. By default, there are
    /// none.
    #[must_use]
    pub fn installer(mut self, installer: bool) -> Configurations {
        self.installer = installer;
        self
    }

    pub(crate) fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.members.iter().map(|(_, policy)| policy)
    }

    /// Compiles the policies of all configurations to source code for a target.
    ///
    /// # Errors
    /// As [`Policy::generate`] for each policy. If there is no configuration, or two have the same name; if a variable has
    /// 32 bits in one policy and 64 in another; if there are installers, and only some policies notify a listener.
    pub fn generate(&self, target: Arch) -> Result<Generated, Error> {
        let (mut codes, mut files, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (configuration, policy)) in self.members.iter().enumerate() {
            if self.members.iter().take(index).any(|(other, _)| other == configuration) {
                return Err(self.error(format!("two configurations are {configuration:?}"), ""));
            }
            let policy = policy.clone().name(&*self.name).installer(self.installer);
            let mut own = Files::new(&policy.directory, &policy.path);
            let generated = policy.generate_from(target, &mut own);
            for path in own.into_paths() {
                if !files.contains(&path) {
                    files.push(path);
                }
            }
            match generated {
                Ok((code, own)) => {
                    for warning in own {
                        if !warnings.contains(&warning) {
                            warnings.push(warning);
                        }
                    }
                    codes.push(code);
                }
                Err(error) => {
                    let which =
                        format!("this was the policy of the configuration {configuration:?}");
                    return Err(error.followed_by(self.error(which, "")).with_files(files));
                }
            }
        }
        match self.source(&codes) {
            Ok(source) => Ok(Generated::new(source, files, warnings)),
            Err(error) => Err(error.with_files(files)),
        }
    }

    fn error(&self, message: impl Into<String>, help: &str) -> Error {
        Error::about(&self.name, message, help)
    }

    /// The modules with the filters, and the functions that choose one.
    fn source(&self, codes: &[Code]) -> Result<String, Error> {
        let Some(listens) = codes.first().map(|code| code.listens) else {
            return Err(self.error("there are no configurations", "add at least one"));
        };
        if self.installer && codes.iter().any(|code| code.listens != listens) {
            let message = "some policies notify a listener and others do not, so that their installers differ";
            return Err(self.error(message, "make two sets of configurations"));
        }
        let variables = self.variables(codes)?;
        let names: Vec<&str> = self.members.iter().map(|(name, _)| name.as_str()).collect();
        let (mut text, mut members) = (String::new(), Vec::new());
        for (index, (name, code)) in names.iter().zip(codes).enumerate() {
            let same = codes.iter().take(index).position(|other| other.source == code.source);
            if same.is_none() {
                let _ = write!(text, "mod configuration_{index} {{\n{}}}\n\n", code.source);
            }
            members.push(Member { name, code, module: same.unwrap_or(index) });
        }
        let upper = self.name.to_uppercase();
        let _ = write!(
            text,
            "/// The configurations whose filters were compiled, and proved to mean their policies.\n\
             #[rustfmt::skip]\n#[allow(dead_code)]\n\
             pub const {upper}_CONFIGURATIONS: [&str; {}] = {names:?};\n",
            names.len()
        );
        self.functions(&mut text, &members, &variables, listens)?;
        Ok(text)
    }

    /// The variables of all policies, each once.
    fn variables(&self, codes: &[Code]) -> Result<Vec<Variable>, Error> {
        let mut all: Vec<Variable> = Vec::new();
        for variable in codes.iter().flat_map(|code| &code.variables) {
            match all.iter().find(|known| known.name() == variable.name()) {
                None => all.push(variable.clone()),
                Some(known) if known.is_wide() == variable.is_wide() => {}
                Some(_) => {
                    let message = format!(
                        "the variable `{}` has 32 bits in one policy and 64 in another",
                        variable.name()
                    );
                    return Err(self.error(message, "give one of them another name"));
                }
            }
        }
        Ok(all)
    }

    /// The functions that return and install the program of a configuration.
    fn functions(
        &self,
        text: &mut String,
        members: &[Member<'_>],
        variables: &[Variable],
        listens: bool,
    ) -> Result<(), Error> {
        let options = SourceOptions {
            name: Some(self.name.clone()),
            ..SourceOptions::new(SourceLanguage::Rust)
        };
        let parameters = parameters(variables, &options)
            .map_err(|error| self.error(error.to_string(), "choose another name"))?;
        let declared: String =
            parameters.iter().map(|(declared, _)| format!(", {declared}")).collect();
        let passed = |code: &Code| -> Vec<&str> {
            let of = |variable: &Variable| variables.iter().position(|one| one == variable);
            let each = code.variables.iter().filter_map(|variable| parameters.get(of(variable)?));
            each.map(|(_, passed)| passed.as_str()).collect()
        };
        let (array, function) = (self.name.to_uppercase(), self.name.to_lowercase());
        let arms = |value: &dyn Fn(&Member<'_>) -> String, otherwise: &str| {
            let mut arms = String::new();
            for member in members {
                let _ = writeln!(arms, "        {:?} => {},", member.name, value(member));
            }
            format!("    match configuration {{\n{arms}        _ => {otherwise},\n    }}")
        };
        let program = |member: &Member<'_>| {
            let module = member.module;
            match passed(member.code).as_slice() {
                [] => format!("Some(configuration_{module}::{array}.to_vec())"),
                passed => {
                    format!(
                        "Some(configuration_{module}::{function}({}).to_vec())",
                        passed.join(", ")
                    )
                }
            }
        };
        let _ = write!(
            text,
            "\n/// The program of a configuration; `None` if it is not among [`{array}_CONFIGURATIONS`].\n\
             #[rustfmt::skip]\n#[allow(dead_code, unused_variables)]\n#[must_use]\n\
             pub fn {function}(configuration: &str{declared}) -> Option<Vec<libc::sock_filter>> {{\n{}\n}}\n",
            arms(&program, "None")
        );
        if !self.installer {
            return Ok(());
        }
        let (listener, returned) =
            if listens { ("_listener", "std::os::fd::OwnedFd") } else { ("", "()") };
        for Installer { suffix, what, own } in INSTALLERS {
            let installer = format!("install_{function}{listener}{suffix}");
            let install = |member: &Member<'_>| {
                let own = own.iter().map(|(name, _)| *name);
                let passed: Vec<&str> = own.chain(passed(member.code)).collect();
                format!("configuration_{}::{installer}({})", member.module, passed.join(", "))
            };
            let own: String = own.iter().map(|(name, of)| format!(", {name}: {of}")).collect();
            let otherwise = format!(
                "Err(std::io::Error::new(std::io::ErrorKind::NotFound, format!(\"no filter was compiled for the \
                 configuration {{configuration:?}}; there are {{{array}_CONFIGURATIONS:?}}\")))"
            );
            let _ = write!(
                text,
                "\n/// Installs the filter of a configuration {what}.\n///\n\
                 /// # Errors\n\
                 /// `NotFound` if the configuration is not among [`{array}_CONFIGURATIONS`]: then nothing is installed. Else the error \
                 of the kernel.\n\
                 #[rustfmt::skip]\n#[allow(dead_code, unused_variables)]\n\
                 pub fn {installer}(configuration: &str{own}{declared}) -> std::io::Result<{returned}> {{\n{}\n}}\n",
                arms(&install, &otherwise)
            );
        }
        Ok(())
    }
}
