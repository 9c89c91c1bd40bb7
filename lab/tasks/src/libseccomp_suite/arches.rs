//! Lists of architectures in tables of tests.
//!
//! A word of a list names one architecture, or all of a byte order or width. Without a sign, it selects the native
//! architecture, if it is among them; with `+`, it selects them all. A word with `-` removes one architecture,
//! wherever it is in the list.
//!
//! The groups contain the architectures that Callgate knows, which are those of libseccomp 2.6.1; the suite of an older
//! version means fewer.

use callgate::{Arch, Endian};

use callgate_tasks::Result;

/// The selected architectures, in the order of the list. An architecture that is selected twice is in it twice.
pub(super) fn select(list: &str, native: Arch) -> Result<Vec<Arch>> {
    let (mut selected, mut removed) = (Vec::new(), Vec::new());
    for word in list.split(',') {
        match word.strip_prefix(['+', '-']) {
            Some(name) if word.starts_with('-') => removed.push(one(name)?),
            Some(name) => selected.extend(named(name)?),
            None if word == "all" => selected.push(native),
            None => selected.extend(named(word)?.into_iter().filter(|arch| *arch == native)),
        }
    }
    selected.retain(|arch| !removed.contains(arch));
    Ok(selected)
}

/// The architectures that a word names.
fn named(name: &str) -> Result<Vec<Arch>> {
    let is_named = |arch: &Arch| match name {
        "all_le" => arch.endian() == Endian::Little,
        "all_be" => arch.endian() == Endian::Big,
        "all_32" => !arch.is_64bit(),
        // The original's list does not contain these two.
        "all_64" => arch.is_64bit() && !matches!(arch, Arch::Mipsel64 | Arch::Ppc64le),
        _ => false,
    };
    let group: Vec<Arch> = Arch::ALL.iter().copied().filter(is_named).collect();
    if group.is_empty() { one(name).map(|arch| vec![arch]) } else { Ok(group) }
}

fn one(name: &str) -> Result<Arch> {
    let arch = Arch::ALL.iter().find(|arch| arch.name() == name);
    arch.copied().ok_or_else(|| format!("unknown architecture {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str, native: Arch) -> Vec<&'static str> {
        select(list, native).unwrap().iter().map(|arch| arch.name()).collect()
    }

    #[test]
    fn words_without_a_sign_select_the_native_architecture() {
        for (list, on_x86_64, on_s390) in [
            ("all", Some("x86_64"), Some("s390")),
            ("all_le", Some("x86_64"), None),
            ("all_be", None, Some("s390")),
            ("all_32", None, Some("s390")),
            ("all_64", Some("x86_64"), None),
            ("x86,s390", None, Some("s390")),
            ("all,-x86_64", None, Some("s390")),
        ] {
            assert_eq!(names(list, Arch::X86_64), Vec::from_iter(on_x86_64), "{list}");
            assert_eq!(names(list, Arch::S390), Vec::from_iter(on_s390), "{list}");
        }
    }

    #[test]
    fn words_with_a_sign_select_and_remove_others() {
        assert_eq!(names("+ppc,+x86", Arch::X86_64), ["ppc", "x86"]);
        assert_eq!(names("-x86,+ppc,+x86,x86_64", Arch::X86_64), ["ppc", "x86_64"]);
        assert_eq!(names("x86_64,+x86_64", Arch::X86_64), ["x86_64", "x86_64"]);
        let groups = ["+all_le", "+all_be", "+all_32", "+all_64"];
        let counts = groups.map(|group| names(group, Arch::Arm).len());
        assert_eq!(counts, [12, 11, 13, 8]);
    }

    #[test]
    fn unknown_names_are_refused() {
        for list in ["vax", "+vax", "-vax", "-all_le", "", "x86,"] {
            assert!(select(list, Arch::X86_64).is_err(), "{list}");
        }
    }
}
