//! Where included files come from.

/// A file that a policy includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Its name in messages.
    pub name: String,
    /// Tells it from other files, whatever their names are: for example device and inode. A file with the same identity
    /// may not be included by it.
    pub identity: String,
    /// Its text.
    pub text: String,
    /// Whether messages must not quote the text: it is not a part of what the author of the policy gave to be read, so
    /// readers of the messages may not be allowed to see it.
    pub is_private: bool,
}

/// Finds included files: given the name in the directive, and the name of the file with the directive (`None` for the
/// policy itself), returns the file, or why it cannot be read.
pub type Includes<'a> = dyn FnMut(&str, Option<&str>) -> Result<Included, String> + 'a;

/// Finds no file: for policies without included files.
pub(crate) fn no_files(_: &str, _: Option<&str>) -> Result<Included, String> {
    Err("files cannot be included here".to_owned())
}
