//! `libseccomp.pc`.

use std::path::Path;

/// The version of libseccomp whose interface the library has.
pub(super) const VERSION: &str = "2.6.1";

/// The text of `libseccomp.pc`.
///
/// `Libs.private` has what Rust's standard library needs (`rustc --print native-static-libs`), except for the unwinder,
/// which C compilers link themselves: in `libgcc_s`, or in `libgcc_eh` with `-static`.
pub(super) fn text(prefix: &Path, libdir: &Path) -> String {
    let prefix = prefix.display();
    let libdir = match libdir.strip_prefix(prefix.to_string()) {
        Ok(inside) => format!("${{exec_prefix}}/{}", inside.display()),
        Err(_) => libdir.display().to_string(),
    };
    format!(
        "\
prefix={prefix}
exec_prefix=${{prefix}}
libdir={libdir}
includedir=${{prefix}}/include

Name: libseccomp
Description: seccomp filters from rules, compiled and proved by Callgate
Version: {VERSION}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -lseccomp
Libs.private: -lutil -lrt -lpthread -lm -ldl
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_relative_to_the_prefix() {
        let text = text(Path::new("/usr"), Path::new("/usr/lib/x"));
        assert!(text.starts_with(
            "prefix=/usr\nexec_prefix=${prefix}\nlibdir=${exec_prefix}/lib/x\nincludedir=${prefix}/include\n"
        ));
    }

    #[test]
    fn libraries_may_be_elsewhere() {
        assert!(text(Path::new("/usr"), Path::new("/lib")).contains("\nlibdir=/lib\n"));
    }
}
