//! The two packages of a machine.

use std::path::Path;

use callgate_tasks::Result;
use callgate_tasks::files::{make, read, write};

use super::library::{Library, kind};
use crate::release::archive::{Control, deb};
use crate::release::context::{Context, Machine};
use crate::release::notices::{THIRD_PARTY, notices};
use crate::release::part::Artefact;

/// The package with the library.
const LIBRARY: &str = "libseccomp2-callgate";

/// The package that puts it in place of Debian's.
const DEFAULT: &str = "libseccomp2-callgate-default";

/// The first version of libseccomp2 that may have functions which this library does not have, in Debian's order of versions.
const NEXT: &str = "2.7~";

/// The directory of the packages below the output.
pub(super) const DIRECTORY: &str = "drop-in";

/// The version of both packages: that of the interface, and ours.
pub(super) fn version(context: &Context) -> Result<String> {
    Ok(format!("{}+callgate{}", kind()?.version, context.version))
}

/// Builds both packages.
pub(super) fn build(
    context: &Context,
    machine: Machine,
    library: &Library,
) -> Result<Vec<Artefact>> {
    let packages = Packages { context, machine, version: version(context)? };
    Ok(vec![packages.library(library)?, packages.default()?])
}

/// What both packages need.
struct Packages<'a> {
    context: &'a Context,
    machine: Machine,
    version: String,
}

impl Packages<'_> {
    /// The library in its own directory.
    fn library(&self, library: &Library) -> Result<Artefact> {
        let root = self.context.scratch(&format!("{LIBRARY}-{}", self.machine.name))?;
        let libdir = self.machine.libdir();
        let directory = root.join(libdir.trim_start_matches('/')).join("callgate");
        make(&directory)?;
        // As all libraries of Debian, it is not executable.
        write(&directory.join("libseccomp.so.2"), read(&library.path)?)?;
        let documents = root.join("usr/share/doc").join(LIBRARY);
        make(&documents)?;
        let notices = notices(self.context, "crates/callgate-seccomp", &library.target)?;
        write(&documents.join(THIRD_PARTY), notices)?;
        let fields = [
            "Section: libs".to_owned(),
            "Multi-Arch: same".to_owned(),
            format!("Depends: libc6 (>= {})", library.glibc),
        ];
        let description = [
            "A library with the interface of libseccomp, for the programs that use it. It",
            "compiles their rules to smaller and faster filters, and proves each filter",
            "equal to its rules.",
            ".",
            "This package has the library in a directory of its own, for one program:",
            &format!("LD_LIBRARY_PATH={libdir}/callgate PROGRAM"),
            ".",
            &format!("{DEFAULT} makes all programs use it."),
        ];
        let control = Control {
            package: LIBRARY,
            version: &self.version,
            architecture: self.machine.debian,
            fields: &fields,
            description: (
                "libseccomp.so.2 that compiles and proves filters with Callgate",
                &description,
            ),
            scripts: &[("prerm", self.script(include_str!("debian/library-prerm.sh"), LIBRARY))],
        };
        self.package(&control, &root, "libseccomp.so.2 in a directory of its own")
    }

    /// The diversion.
    fn default(&self) -> Result<Artefact> {
        let root = self.context.scratch(&format!("{DEFAULT}-{}", self.machine.name))?;
        let libdir = self.machine.libdir();
        make(&root.join(libdir.trim_start_matches('/')).join("callgate/diverted"))?;
        let overrides = root.join("usr/share/lintian/overrides");
        make(&overrides)?;
        let text = format!("# It has scripts.\n{DEFAULT}: empty-binary-package\n");
        write(&overrides.join(DEFAULT), text)?;
        let fields = [
            "Section: libs".to_owned(),
            "Multi-Arch: same".to_owned(),
            format!("Depends: {LIBRARY} (= {}), libseccomp2", self.version),
            format!("Breaks: libseccomp2 (>= {NEXT})"),
        ];
        let script = |text: &str| {
            let text = text.replace("# shellcheck shell=sh disable=SC2154\n", "");
            self.script(&format!("{}{text}", include_str!("debian/common.sh")), DEFAULT)
        };
        let control = Control {
            package: DEFAULT,
            version: &self.version,
            architecture: self.machine.debian,
            fields: &fields,
            description: (
                "libseccomp.so.2 of Callgate for all programs of the system",
                &[
                    "Puts the library of libseccomp2-callgate in place of the one of libseccomp2,",
                    "which stays installed: its file is diverted, and comes back when this package",
                    "is removed. Running programs keep the library that they have loaded.",
                ],
            ),
            scripts: &[
                ("postinst", script(include_str!("debian/postinst.sh"))),
                ("prerm", script(include_str!("debian/prerm.sh"))),
                // All versions of libseccomp2 have this link: it was unpacked.
                ("triggers", format!("interest-noawait {libdir}/libseccomp.so.2\n")),
            ],
        };
        self.package(&control, &root, "libseccomp.so.2 in place of Debian's")
    }

    fn package(&self, control: &Control, root: &Path, what: &str) -> Result<Artefact> {
        let into = self.context.output.join(DIRECTORY);
        let file = deb(self.context, control, root, &into)?;
        Ok(Artefact {
            path: self.context.relative(&into.join(file))?,
            what: what.to_owned(),
            machine: Some(self.machine),
        })
    }

    /// A script with the names of this machine.
    fn script(&self, text: &str, package: &str) -> String {
        text.replace("@package@", package)
            .replace("@default@", DEFAULT)
            .replace("@next@", NEXT)
            .replace("@libdir@", &self.machine.libdir())
            .replace("@architecture@", self.machine.debian)
    }
}
