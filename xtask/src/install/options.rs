//! Options of `cargo xtask install`.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo xtask install --prefix DIR [--libdir DIR] [--destdir DIR] [--target TRIPLE] [--replace]

Builds the C library and installs it in place of libseccomp:

  PREFIX/lib/libseccomp.so.2.6.1, with the links libseccomp.so.2 and libseccomp.so
  PREFIX/lib/libseccomp.a
  PREFIX/lib/pkgconfig/libseccomp.pc
  PREFIX/include/seccomp.h, seccomp-syscalls.h

  --prefix DIR      absolute path of the installation
  --libdir DIR      absolute path for libraries (default: PREFIX/lib)
  --destdir DIR     write below this directory; for packages
  --target TRIPLE   build for another machine; needs a linker for it, for example in
                    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER
  --replace         replace files that exist; without it, they are an error and
                    nothing is installed

Needs readelf (Debian: binutils).
";

/// What is installed where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) prefix: PathBuf,
    pub(super) libdir: PathBuf,
    pub(super) destdir: PathBuf,
    pub(super) target: Option<String>,
    pub(super) replace: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let (mut prefix, mut libdir, mut destdir, mut target) = (None, None, None, None);
        let mut replace = false;
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
        let destdir = PathBuf::from(destdir.unwrap_or_else(|| "/".to_owned()));
        Ok(Options { prefix, libdir, destdir, target, replace })
    }

    /// Where a file is written that will be at `path`.
    pub(super) fn staged(&self, path: &Path) -> PathBuf {
        self.destdir.join(path.strip_prefix("/").unwrap_or(path))
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
        assert_eq!(options.libdir, Path::new("/usr/local/lib"));
        assert_eq!(options.staged(&options.libdir), Path::new("/usr/local/lib"));
        assert!(!options.replace);
    }

    #[test]
    fn files_are_written_below_destdir() {
        let options =
            parse("--replace --prefix /usr --libdir /usr/lib/x --destdir tree --target t").unwrap();
        assert_eq!(options.staged(&options.libdir), Path::new("tree/usr/lib/x"));
        assert_eq!(options.target.as_deref(), Some("t"));
        assert!(options.replace);
    }

    #[test]
    fn wrong_options_are_errors() {
        let error = |line| parse(line).unwrap_err();
        assert_eq!(error(""), "missing --prefix; try --help");
        assert_eq!(error("--prefix usr"), "--prefix usr: must be an absolute path");
        assert_eq!(error("--prefix /usr --libdir lib"), "--libdir lib: must be an absolute path");
        assert_eq!(error("--prefix"), "--prefix needs a value");
        assert_eq!(error("/usr"), "unexpected argument \"/usr\"; try --help");
    }
}
