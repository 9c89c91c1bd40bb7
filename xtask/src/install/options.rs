//! Options of `cargo xtask install`.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;

use super::library::{LIBRARIES, Library};

pub(crate) const HELP: &str = "\
usage: cargo xtask install [libseccomp|libcallgate] --prefix DIR [OPTION]...

Builds a library for C and installs it. libseccomp, which is installed if none is named,
has the interface of libseccomp and takes its place; libcallgate has Callgate's own.

  PREFIX/lib/libseccomp.so.2.6.1, with the links libseccomp.so.2 and libseccomp.so
  PREFIX/lib/libseccomp.a
  PREFIX/lib/pkgconfig/libseccomp.pc
  PREFIX/include/seccomp.h, seccomp-syscalls.h

  PREFIX/lib/libcallgate.so.VERSION, with the links libcallgate.so.0 and libcallgate.so
  PREFIX/lib/libcallgate.a
  PREFIX/lib/pkgconfig/callgate.pc
  PREFIX/include/callgate.h, callgate-install.h

  --prefix DIR      absolute path of the installation
  --libdir DIR      absolute path for libraries (default: PREFIX/lib)
  --destdir DIR     write below this directory; for packages
  --target TRIPLE   build for another machine; needs a linker for it, for example in
                    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER
  --replace         replace files that exist; without it, they are an error and
                    nothing is installed

Needs readelf (Debian: binutils).
";

/// Where a library is installed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The absolute path of the installation.
    pub(crate) prefix: PathBuf,
    /// The absolute path of the libraries.
    pub(crate) libdir: PathBuf,
    /// Files are written below this directory.
    pub(crate) destdir: PathBuf,
}

impl Place {
    /// Where a file is written that will be at `path`.
    pub(crate) fn staged(&self, path: &Path) -> PathBuf {
        self.destdir.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// What is installed where.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) library: &'static Library,
    pub(super) place: Place,
    pub(super) target: Option<String>,
    pub(super) replace: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let (mut prefix, mut libdir, mut destdir, mut target) = (None, None, None, None);
        let (mut library, mut replace) = (None, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let option = match word.as_str() {
                "--replace" => {
                    replace = true;
                    continue;
                }
                "--prefix" => &mut prefix,
                "--libdir" => &mut libdir,
                "--destdir" => &mut destdir,
                "--target" => &mut target,
                name if library.is_none() && !name.starts_with('-') => {
                    library = Some(Library::named(name).ok_or_else(|| {
                        format!("{name}: no such library: libseccomp or libcallgate")
                    })?);
                    continue;
                }
                _ => return Err(format!("unexpected argument {word:?}; try --help")),
            };
            *option = Some(words.next().ok_or_else(|| format!("{word} needs a value"))?.clone());
        }
        let prefix = PathBuf::from(prefix.ok_or("missing --prefix; try --help")?);
        let libdir = libdir.map_or_else(|| prefix.join("lib"), PathBuf::from);
        for (option, path) in [("--prefix", &prefix), ("--libdir", &libdir)] {
            if !path.is_absolute() {
                return Err(format!("{option} {}: must be an absolute path", path.display()));
            }
        }
        let place = Place { prefix, libdir, destdir: destdir.unwrap_or_else(|| "/".into()).into() };
        Ok(Options { library: library.unwrap_or(&LIBRARIES[0]), place, target, replace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn directories_have_defaults() {
        let options = parse("--prefix /usr/local").unwrap();
        let place = options.place;
        assert_eq!(place.libdir, Path::new("/usr/local/lib"));
        assert_eq!(place.staged(&place.libdir), Path::new("/usr/local/lib"));
        assert!(!options.replace);
        assert_eq!(options.library.name, "libseccomp");
    }

    #[test]
    fn files_are_written_below_destdir() {
        let options = parse(
            "libcallgate --replace --prefix /usr --libdir /usr/lib/x --destdir tree --target t",
        )
        .unwrap();
        let place = options.place;
        assert_eq!(place.staged(&place.libdir), Path::new("tree/usr/lib/x"));
        assert_eq!(options.target.as_deref(), Some("t"));
        assert!(options.replace);
        assert_eq!(options.library.soname(), "libcallgate.so.0");
    }

    #[test]
    fn wrong_options_are_errors() {
        let error = |line| parse(line).unwrap_err();
        assert_eq!(error(""), "missing --prefix; try --help");
        assert_eq!(error("--prefix usr"), "--prefix usr: must be an absolute path");
        assert_eq!(error("--prefix /usr --libdir lib"), "--libdir lib: must be an absolute path");
        assert_eq!(error("--prefix"), "--prefix needs a value");
        assert_eq!(error("/usr"), "/usr: no such library: libseccomp or libcallgate");
        assert_eq!(
            error("libseccomp libcallgate"),
            "unexpected argument \"libcallgate\"; try --help"
        );
        assert_eq!(error("--perfix /usr"), "unexpected argument \"--perfix\"; try --help");
    }
}
