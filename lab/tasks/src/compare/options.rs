//! Options of `cargo lab compare`.

use std::path::PathBuf;

use callgate_codegen::Aim;

use callgate_tasks::Result;

/// What `cargo lab compare --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo lab compare [PART] [OPTION]...

Compiles the same rules with Callgate, libseccomp, gVisor's pkg/seccomp, rust-vmm's
seccompiler, elastic's go-seccomp-bpf and seacomb; compares verdicts, sizes, executed
instructions per syscall and compilation times. Writes lab/results/comparison.md and
lab/results/growth.svg, and prints the tables.

The others are built below target/compare from their packages, with cc, go and cargo;
seacomb needs Rust 1.98 (rustup), and root to read the filters of its examples.
Unavailable ones are reported as not measured.

parts, which only print their tables:
  sets             realistic rule sets, and programs given with --filters
  growth           from 10 to 4,000 rules
  engines          programs run in user space, by interpreters and native code
  own              Callgate alone, on the sets, the growing ones and the programs: sizes,
                   executed instructions and, with --count, the machine instructions of a
                   compilation with its proof (valgrind); only on request

  --profiles DIR   more rule sets: container profiles or plain rules in *.json, rules in
                   the drivers' form (lab/tasks/src/compare/text.rs) in *.rules
  --filters DIR    programs to compile again: *.bpf, little-endian, for x86_64
  --weights FILE   one more workload: lines with the name of a syscall and a count
  --install        first install gcc, libseccomp-dev and libpcap-dev with apt-get, and the
                   Rust toolchain of seacomb with rustup; `.ci/go` installs Go
  --count          with own: also count machine instructions, which takes minutes
  --case NAME      with own: only compile this case, once; --aim speed|size (for profilers)
  --output DIR     where to write the report, instead of docs

CALLGATE_BENCH_PROFILES and CALLGATE_BENCH_FILTERS are the defaults of --profiles and --filters.
";

/// A part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Sets,
    Growth,
    Engines,
    Own,
}

impl Part {
    const ALL: [(&str, Part); 4] = [
        ("sets", Part::Sets),
        ("growth", Part::Growth),
        ("engines", Part::Engines),
        ("own", Part::Own),
    ];
}

/// The options of a run.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// `None`: all parts.
    pub(super) part: Option<Part>,
    pub(super) profiles: Option<PathBuf>,
    pub(super) filters: Option<PathBuf>,
    pub(super) weights: Vec<PathBuf>,
    pub(super) output: Option<PathBuf>,
    pub(super) install: bool,
    pub(super) count: bool,
    pub(super) case: Option<String>,
    pub(super) aim: Option<Aim>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut path = || words.next().map(PathBuf::from).ok_or(format!("{word} needs a path"));
            match word.as_str() {
                "--profiles" => options.profiles = Some(path()?),
                "--filters" => options.filters = Some(path()?),
                "--weights" => options.weights.push(path()?),
                "--output" => options.output = Some(path()?),
                "--install" => options.install = true,
                "--count" => options.count = true,
                "--case" => options.case = Some(words.next().ok_or("--case needs a name")?.clone()),
                "--aim" => {
                    let named = |name| Aim::ALL.iter().copied().find(|aim| aim.name() == name);
                    let aim = words.next().and_then(|name| named(name.as_str()));
                    options.aim = Some(aim.ok_or("--aim needs speed or size")?);
                }
                name => match Part::ALL.iter().find(|(part, _)| *part == name) {
                    Some((_, part)) if options.part.is_none() => options.part = Some(*part),
                    Some(_) => {
                        return Err("more than one part; give one part, or none for all".to_owned());
                    }
                    None if name.starts_with('-') => {
                        return Err(format!("unknown option {name:?}; try --help"));
                    }
                    None => return Err(format!("unknown part {name:?}; try --help")),
                },
            }
        }
        let own = options.count || options.case.is_some() || options.aim.is_some();
        if own && options.part != Some(Part::Own) {
            return Err("--count, --case and --aim need the part `own`".to_owned());
        }
        if options.part.is_some() && options.output.is_some() {
            return Err("--output has no effect with a part, which writes no files".to_owned());
        }
        Ok(options)
    }

    /// Takes missing options from the environment, like the benchmarks.
    pub(super) fn or_environment(mut self) -> Options {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        self.profiles = self.profiles.or_else(|| variable("CALLGATE_BENCH_PROFILES"));
        self.filters = self.filters.or_else(|| variable("CALLGATE_BENCH_FILTERS"));
        self
    }

    /// The command line, with names in place of paths.
    pub(super) fn command(&self) -> String {
        let mut command = "cargo lab compare".to_owned();
        command += if self.profiles.is_some() { " --profiles DIR" } else { "" };
        command += if self.filters.is_some() { " --filters DIR" } else { "" };
        for path in &self.weights {
            let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
            command += &format!(" --weights {name}");
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_say_what_is_wrong() {
        assert_eq!(parse(&["growth", "--install"]).unwrap().part, Some(Part::Growth));
        for (words, expected) in [
            (&["--profiles"][..], "--profiles needs a path"),
            (&["--profile", "x"], "unknown option \"--profile\""),
            (&["size"], "unknown part \"size\""),
            (&["sets", "growth"], "more than one part"),
            (&["sets", "--count"], "need the part `own`"),
            (&["own", "--aim", "both"], "speed or size"),
            (&["sets", "--output", "x"], "a part, which writes no files"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_command_names_no_paths() {
        let options = parse(&["--profiles", "/a/b", "--weights", "/c/w.tsv"]).unwrap();
        assert_eq!(options.command(), "cargo lab compare --profiles DIR --weights w.tsv");
    }
}
