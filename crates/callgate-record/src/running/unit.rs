//! Names of the cgroups of systemd units.

/// The name of a unit with its suffix.
pub(super) fn full_name(name: &str) -> String {
    const SUFFIXES: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];
    let has_suffix = SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    if has_suffix { name.to_owned() } else { format!("{name}.service") }
}

/// Whether a directory is the cgroup of a unit. systemd puts an underscore before names that could be a file of the
/// kernel (`cg_escape` in `src/basic/cgroup-util.c`).
pub(super) fn is_named(directory: &str, unit: &str) -> bool {
    directory == unit || directory.strip_prefix('_') == Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_needs_no_suffix() {
        assert_eq!(full_name("nginx"), "nginx.service");
        assert_eq!(full_name("getty@tty1"), "getty@tty1.service");
        assert_eq!(full_name("a.b"), "a.b.service");
        assert_eq!(full_name("init.scope"), "init.scope");
        assert!(
            is_named("_cpu.service", "cpu.service") && !is_named("cpu.service.d", "cpu.service")
        );
    }
}
