//! The programs that are compared.

use std::path::PathBuf;

use callgate::emit::SourceLanguage;

use super::builder::{Builder, POLICY, Program};
use super::lines::{Lines, Part};
use crate::versions::{BINCODE, GVISOR, LIBSECCOMP_GOLANG, SECCOMPILER};
use callgate_tasks::{Result, workspace};

const EMITTED_C: &str = include_str!("drivers/c/emitted.c");
const LIBSECCOMP_C: &str = include_str!("drivers/c/libseccomp.c");
const EMITTED_RUST: &str = include_str!("drivers/rust/emitted.rs");
const MACRO: &str = include_str!("drivers/rust/macro.rs");
const SECCOMPILER_AT_START: &str = include_str!("drivers/rust/seccompiler.rs");
const PRECOMPILED: &str = include_str!("drivers/rust/precompiled/main.rs");
const PRECOMPILED_BUILD: &str = include_str!("drivers/rust/precompiled/build.rs");
const PRECOMPILED_POLICY: &str = include_str!("drivers/rust/precompiled/policy.json");
const EMITTED_GO: &str = include_str!("drivers/go/emitted/main.go");
const BINDING: &str = include_str!("drivers/go/binding/main.go");
const GVISOR_POLICY: &str = include_str!("drivers/go/gvisor/policy.go");
const GVISOR_AT_START: &str = include_str!("drivers/go/gvisor/main.go");
const GVISOR_PRECOMPILED: &str = include_str!("drivers/go/gvisor_precompiled/main.go");
const GVISOR_GENERATE: &str = include_str!("drivers/go/gvisor_precompiled/generate.go");
const LIBSECCOMP_GO: &str = include_str!("drivers/go/libseccomp/main.go");

/// The path of the Go module.
const GO_MODULE: &str = "github.com/no--owner/callgate/bindings/go";

/// The commands that compile the policy at build time.
const EMIT: &str = "callgate compile policy.kafel --emit LANGUAGE --installer -o FILE";
const GENERATE: &str = "go run ./generate > generated.go";

/// The value of the variable `limit`; that of `output` is 1.
pub(super) const LIMIT: u64 = 16_777_216;
/// Further values, for which filters are compared.
pub(super) const OTHER_LIMITS: [u64; 3] = [0x10_0001, 0x1_0000_0000, u64::MAX];

/// A way to have a filter when a program starts.
pub(super) struct Variant {
    pub(super) name: &'static str,
    /// When the filter is compiled; `None` without a filter.
    pub(super) compiled: Option<When>,
    pub(super) build: fn(&Builder) -> Result<Program>,
    /// Whole texts and drivers whose lines count.
    whole: &'static [(Part, &'static str)],
    marked: &'static [&'static str],
}

/// When the filter is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Build,
    /// The values of the variables are those of the build.
    BuildWithValues,
    Start,
}

impl Variant {
    /// The lines that a user writes.
    pub(super) fn lines(&self) -> Lines {
        let mut lines = Lines::default();
        self.whole.iter().for_each(|(part, text)| lines.add(*part, text));
        self.marked.iter().for_each(|text| lines.add_marked(text));
        lines
    }
}

const POLICY_AND_EMIT: &[(Part, &str)] = &[(Part::Policy, POLICY), (Part::Build, EMIT)];

pub(super) const VARIANTS: &[Variant] = &[
    nothing("no filter, C", |builder| {
        builder.c("c-nothing", &[("main.c", include_str!("drivers/c/nothing.c"))], &[], None)
    }),
    nothing("no filter, Rust", |builder| {
        let main = include_str!("drivers/rust/nothing.rs");
        builder.rust("rust-nothing", &[("src/main.rs", main)], "")
    }),
    nothing("no filter, Go", |builder| {
        let main = include_str!("drivers/go/nothing/main.go");
        builder.go("go-nothing", &[("main.go", main)], "", &[])
    }),
    Variant {
        name: "Callgate, emitted C",
        compiled: Some(When::Build),
        build: |builder| {
            let header = builder.emitted(SourceLanguage::C)?;
            builder.c("c-emitted", &[("main.c", EMITTED_C), ("emitted.h", &header)], &[], None)
        },
        whole: POLICY_AND_EMIT,
        marked: &[EMITTED_C],
    },
    Variant {
        name: "Callgate, emitted Rust",
        compiled: Some(When::Build),
        build: |builder| {
            let filter = builder.emitted(SourceLanguage::Rust)?;
            let files = [("src/main.rs", EMITTED_RUST), ("src/filter.rs", &filter)];
            builder.rust("rust-emitted", &files, "[dependencies]\nlibc = \"0.2\"\n")
        },
        whole: POLICY_AND_EMIT,
        marked: &[EMITTED_RUST],
    },
    Variant {
        name: "Callgate, macro `filter!`",
        compiled: Some(When::Build),
        build: |builder| {
            let macros = workspace().join("crates/callgate-macros");
            let manifest = format!(
                "[dependencies]\nlibc = \"0.2\"\ncallgate-macros = {{ path = {:?} }}\n",
                macros.display().to_string()
            );
            let files = [("src/main.rs", MACRO), ("policy.kafel", POLICY)];
            builder.rust("rust-macro", &files, &manifest)
        },
        whole: &[(Part::Policy, POLICY)],
        marked: &[MACRO],
    },
    Variant {
        name: "Callgate, emitted Go",
        compiled: Some(When::Build),
        build: |builder| {
            let filter = builder.emitted(SourceLanguage::Go)?;
            let files = [("main.go", EMITTED_GO), ("filter.go", &filter)];
            builder.go("go-emitted", &files, "require golang.org/x/sys v0.38.0\n", &[])
        },
        whole: POLICY_AND_EMIT,
        marked: &[EMITTED_GO],
    },
    Variant {
        name: "Callgate, Go module",
        compiled: Some(When::Start),
        build: |builder| {
            let module = workspace().join("target/bindings/go");
            if !module.exists() {
                return Err(format!("{} is missing: run `cargo xtask wasm`", module.display()));
            }
            let requirements = format!(
                "require {GO_MODULE} v0.0.0\nreplace {GO_MODULE} => {:?}\n",
                module.display().to_string()
            );
            builder.go("go-binding", &[("main.go", BINDING)], &requirements, &[])
        },
        whole: &[],
        marked: &[BINDING],
    },
    Variant {
        name: "gVisor, precompiled",
        compiled: Some(When::Build),
        build: |builder| {
            let files = [
                ("main.go", GVISOR_PRECOMPILED),
                ("generate/main.go", GVISOR_GENERATE),
                ("generate/policy.go", GVISOR_POLICY),
            ];
            builder.go("go-gvisor-precompiled", &files, &gvisor(), &[])
        },
        whole: &[(Part::Build, GENERATE)],
        marked: &[GVISOR_POLICY, GVISOR_GENERATE, GVISOR_PRECOMPILED],
    },
    Variant {
        name: "gVisor, at start",
        compiled: Some(When::Start),
        build: |builder| {
            let files = [("main.go", GVISOR_AT_START), ("policy.go", GVISOR_POLICY)];
            builder.go("go-gvisor", &files, &gvisor(), &[])
        },
        whole: &[],
        marked: &[GVISOR_POLICY, GVISOR_AT_START],
    },
    Variant {
        name: "seccompiler, build script",
        compiled: Some(When::BuildWithValues),
        build: |builder| {
            let manifest = format!(
                "[dependencies]\nbincode = \"={BINCODE}\"\nseccompiler = \"={SECCOMPILER}\"\n\n\
                 [build-dependencies]\nbincode = \"={BINCODE}\"\n\
                 seccompiler = {{ version = \"={SECCOMPILER}\", features = [\"json\"] }}\n"
            );
            let files = [
                ("src/main.rs", PRECOMPILED),
                ("build.rs", PRECOMPILED_BUILD),
                ("policy.json", PRECOMPILED_POLICY),
            ];
            builder.rust("rust-precompiled", &files, &manifest)
        },
        whole: &[(Part::Policy, PRECOMPILED_POLICY)],
        marked: &[PRECOMPILED_BUILD, PRECOMPILED],
    },
    Variant {
        name: "seccompiler, at start",
        compiled: Some(When::Start),
        build: |builder| {
            let manifest =
                format!("[dependencies]\nlibc = \"0.2\"\nseccompiler = \"={SECCOMPILER}\"\n");
            builder.rust("rust-seccompiler", &[("src/main.rs", SECCOMPILER_AT_START)], &manifest)
        },
        whole: &[],
        marked: &[SECCOMPILER_AT_START],
    },
    Variant {
        name: "libseccomp, shared",
        compiled: Some(When::Start),
        build: |builder| {
            let directory = builder.libseccomp()?;
            let library = library(directory.join("lib/libseccomp.so.2"))?;
            let arguments = [
                format!("-I{}", directory.join("include").display()),
                format!("-Wl,-rpath,{}", directory.join("lib").display()),
                library.display().to_string(),
            ];
            builder.c("c-libseccomp", &[("main.c", LIBSECCOMP_C)], &arguments, Some(library))
        },
        whole: &[],
        marked: &[LIBSECCOMP_C],
    },
    Variant {
        name: "libseccomp, static",
        compiled: Some(When::Start),
        build: |builder| {
            let directory = builder.libseccomp()?;
            let archive = library(directory.join("lib/libseccomp.a"))?;
            let include = format!("-I{}", directory.join("include").display());
            let arguments = [include, archive.display().to_string()];
            builder.c("c-libseccomp-static", &[("main.c", LIBSECCOMP_C)], &arguments, None)
        },
        whole: &[],
        marked: &[LIBSECCOMP_C],
    },
    Variant {
        name: "libseccomp-golang",
        compiled: Some(When::Start),
        build: |builder| {
            let directory = builder.libseccomp()?;
            let shared = library(directory.join("lib/libseccomp.so.2"))?;
            let files = [
                ("main.go", LIBSECCOMP_GO),
                ("timed_c.go", include_str!("drivers/go/libseccomp/timed_c.go")),
                ("timed.c", include_str!("drivers/c/timed.c")),
                ("timed.h", include_str!("drivers/c/timed.h")),
            ];
            let requirements =
                format!("require github.com/seccomp/libseccomp-golang {LIBSECCOMP_GOLANG}\n");
            let lib = directory.join("lib");
            let environment = [
                ("CGO_ENABLED", "1".to_owned()),
                ("CGO_CFLAGS", format!("-O2 -I{}", directory.join("include").display())),
                ("CGO_LDFLAGS", format!("-L{0} -Wl,-rpath,{0}", lib.display())),
                ("PKG_CONFIG_PATH", lib.join("pkgconfig").display().to_string()),
            ];
            let program = builder.go("go-libseccomp", &files, &requirements, &environment)?;
            Ok(Program { library: Some(shared), ..program })
        },
        whole: &[],
        marked: &[LIBSECCOMP_GO],
    },
];

const fn nothing(name: &'static str, build: fn(&Builder) -> Result<Program>) -> Variant {
    Variant { name, compiled: None, build, whole: &[], marked: &[] }
}

fn gvisor() -> String {
    format!("require gvisor.dev/gvisor {GVISOR}\n")
}

/// The file of a library.
fn library(path: PathBuf) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.canonicalize().map_err(|why| format!("{name}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_variants_are_marked() {
        for variant in VARIANTS.iter().filter(|variant| variant.compiled.is_some()) {
            let lines = variant.lines();
            assert!(lines.policy > 0 && lines.start > 0, "{}: {lines:?}", variant.name);
        }
    }
}
