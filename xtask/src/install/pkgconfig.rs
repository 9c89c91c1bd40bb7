//! What pkg-config reads: `libseccomp.pc`, `callgate.pc`.

use std::path::Path;

use super::library::Library;

/// The text of the file.
///
/// `Libs.private` has what Rust's standard library needs (`rustc --print native-static-libs`), except for the unwinder,
/// which C compilers link themselves: in `libgcc_s`, or in `libgcc_eh` with `-static`.
pub(crate) fn text(library: &Library, prefix: &Path, libdir: &Path) -> String {
    let prefix = prefix.display();
    let Library { module, description, version, .. } = library;
    let name = library.name.trim_start_matches("lib");
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

Name: {module}
Description: {description}
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -l{name}
Libs.private: -lutil -lrt -lpthread -lm -ldl
"
    )
}

#[cfg(test)]
mod tests {
    use super::super::library::LIBRARIES;
    use super::*;

    fn text(prefix: &str, libdir: &str) -> String {
        super::text(&LIBRARIES[1], Path::new(prefix), Path::new(libdir))
    }

    #[test]
    fn directories_are_relative_to_the_prefix() {
        let text = text("/usr", "/usr/lib/x");
        assert!(text.starts_with(
            "prefix=/usr\nexec_prefix=${prefix}\nlibdir=${exec_prefix}/lib/x\nincludedir=${prefix}/include\n"
        ));
        assert!(text.contains("\nName: callgate\n") && text.contains(" -lcallgate\n"), "{text}");
    }

    #[test]
    fn libraries_may_be_elsewhere() {
        assert!(text("/usr", "/lib").contains("\nlibdir=/lib\n"));
    }
}
