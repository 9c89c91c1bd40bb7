//! The architectures that a user gives, for formats that are read for one machine.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::Arch;

/// The architecture of the machine, of those that one machine supports: the first with 64 bits, or the first.
pub fn host_of(arches: &[Arch]) -> Option<Arch> {
    let wide = arches.iter().find(|arch| arch.is_64bit());
    wide.or(arches.first()).copied()
}

/// The architecture of something that is for one only, such as "a minijail policy"; `None` if none is given.
///
/// # Errors
/// If there are several.
pub fn only_arch(what: &str, arches: &[Arch]) -> Result<Option<Arch>, Diagnostic> {
    match arches {
        [first, others @ ..] if others.iter().any(|other| other != first) => {
            let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
            let message = format!("{what} is for one architecture, not for {}", names.join(", "));
            Err(Diagnostic::error(None, message)
                .help("give one architecture, and compile a filter for each"))
        }
        _ => Ok(arches.first().copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_64_bits_if_possible() {
        assert_eq!(host_of(&[Arch::X86, Arch::X86_64, Arch::X32]), Some(Arch::X86_64));
        assert_eq!(host_of(&[Arch::X86, Arch::X32]), Some(Arch::X86));
        assert_eq!(host_of(&[]), None);
    }

    #[test]
    fn one_architecture_may_be_given_twice() {
        let only = |arches| only_arch("a minijail policy", arches).map_err(|error| error.message);
        assert_eq!(only(&[]), Ok(None));
        assert_eq!(only(&[Arch::X86, Arch::X86]), Ok(Some(Arch::X86)));
        assert_eq!(
            only(&[Arch::X86_64, Arch::X86]),
            Err("a minijail policy is for one architecture, not for x86_64, x86".to_owned())
        );
    }
}
