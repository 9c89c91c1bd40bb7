use super::lower::Lowering;
use super::model::{ArchMapEntry, Name, ProfileArches};
use super::options::reads_arch_map;
use crate::diagnostics::quote::shorten;
use callgate_bpf::diagnostic::Severity;
use callgate_core::Arch;

impl Lowering<'_, '_, '_> {
    /// The architectures of the filter, the native one first.
    pub(super) fn choose_arches(&mut self) -> Vec<Arch> {
        let native = self.options.main_arch();
        let mut chosen = vec![native];
        let mut add = |arch: Arch| {
            if !chosen.contains(&arch) {
                chosen.push(arch);
            }
        };
        if self.options.arches.is_empty() {
            for (at, arch) in self.added_arches(native) {
                if arch.endian() != native.endian() {
                    let message = format!(
                        "{} and the native {} have different byte orders, so no kernel runs both",
                        arch.oci_name(),
                        native.oci_name()
                    );
                    self.reader.error(at, message).help =
                        "name the architectures to compile for explicitly".to_owned();
                } else {
                    add(arch);
                }
            }
        } else {
            self.options.arches.iter().copied().for_each(add);
        }
        chosen
    }

    /// The architectures that the profile lists, or those that the options give instead.
    pub(super) fn listed_arches(&mut self, arches: &[Arch]) -> Vec<Arch> {
        match &self.model.arches {
            _ if !self.options.arches.is_empty() => arches.to_vec(),
            ProfileArches::Unspecified => Vec::new(),
            ProfileArches::List(names) => {
                names.iter().filter_map(|(_, name)| by_oci_name(name)).collect()
            }
            // Docker lists the native architecture itself and those of its entry.
            ProfileArches::Map(entries) => {
                let native = self.options.main_arch();
                let is_native =
                    |entry: &ArchMapEntry<'_>| by_oci_name(entry.arch.1) == Some(native);
                if reads_arch_map(self.options.main_arch(), self.dialect)
                    && entries.iter().any(is_native)
                {
                    arches.to_vec()
                } else {
                    Vec::new()
                }
            }
        }
    }

    /// The architectures that the profile adds to the native one, after their byte offsets.
    fn added_arches(&mut self, native: Arch) -> Vec<(usize, Arch)> {
        let dialect = self.dialect;
        let mut unknown = |severity: Severity, at: usize, name: &str| {
            let message = format!("unknown architecture \"{}\"", shorten(name));
            let near = self.reader.nearest(name, Arch::ALL.iter().map(|arch| arch.oci_name()));
            let suggestion = Arch::from_name(name).map(Arch::oci_name).or(near);
            self.reader.report(severity, at, message).help = match suggestion {
                Some(name) => format!("write \"{name}\""),
                None => "the names are SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64, …".to_owned(),
            };
        };
        let (mut added, mut ignored) = (Vec::new(), None);
        let mut take = |names: &[Name<'_>], unknown: &mut dyn FnMut(Severity, usize, &str)| {
            for (at, name) in names {
                match by_oci_name(name) {
                    Some(arch) => added.push((*at, arch)),
                    None => unknown(Severity::Error, *at, name),
                }
            }
        };
        match &self.model.arches {
            ProfileArches::Unspecified => {}
            ProfileArches::List(names) => take(names, &mut unknown),
            ProfileArches::Map(entries) => {
                let mut taken = false;
                for entry in entries {
                    let (at, name) = entry.arch;
                    match by_oci_name(name) {
                        Some(arch) if arch == native && !reads_arch_map(native, dialect) => {
                            // An entry without further architectures has no effect anyway.
                            if !entry.sub_arches.is_empty() {
                                ignored.get_or_insert(at);
                            }
                        }
                        Some(arch) if arch == native && !taken => {
                            take(&entry.sub_arches, &mut unknown);
                            taken = true;
                        }
                        Some(_) => {}
                        None => unknown(Severity::Warning, at, name),
                    }
                }
            }
        }
        if let Some(at) = ignored {
            let message =
                format!("{dialect} ignores the entry of `archMap` for {}", native.oci_name());
            self.reader.warn(at, message).help =
                "list the architectures in `architectures` instead".to_owned();
        }
        added
    }
}

/// The architecture with this name in `architectures` or `archMap`.
fn by_oci_name(name: &str) -> Option<Arch> {
    Arch::ALL.iter().copied().find(|arch| arch.oci_name() == name)
}
