//! Replaces one owner by another.

use std::path::Path;

use callgate_tasks::Result;
use callgate_tasks::files::write;

use super::place::Owner;
use super::tree::{File, texts};

/// The registry of the images.
const REGISTRY: &str = "ghcr.io/";

/// Writes `new` in place of `old` into these files of a tree, and returns the paths of those that changed. Replacing it back
/// restores every byte.
///
/// # Errors
/// If a file has the new owner already: what was there before could not be told from what was replaced.
pub(super) fn replace(
    root: &Path,
    paths: &[String],
    old: &Owner,
    new: &Owner,
) -> Result<Vec<String>> {
    let mut changed = Vec::new();
    for File { path, text } in texts(root, paths)? {
        let kept = |name: &Name| name.form == Form::Image && new.image() == old.image();
        if let Some(name) = names(&text, new).into_iter().find(|name| old != new && !kept(name)) {
            return Err(format!(
                "{path}:{}: names {} already, so that the change could not be undone; change that line first",
                line(&text, name.start),
                name.form.of(new)
            ));
        }
        let result = replaced(&text, old, new);
        if result != text {
            changed.push(File { path, text: result });
        }
    }
    for File { path, text } in &changed {
        write(&root.join(path), text)?;
    }
    Ok(changed.into_iter().map(|file| file.path).collect())
}

/// A text with another owner.
fn replaced(text: &str, old: &Owner, new: &Owner) -> String {
    let (mut result, mut rest) = (String::with_capacity(text.len()), 0);
    for Name { start, form } in names(text, old) {
        result += &text[rest..start];
        result += &form.of(new);
        rest = start + form.of(old).len();
    }
    result + &text[rest..]
}

/// What a text names an owner by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `NAME@users.noreply.github.com`
    Address,
    /// `ghcr.io/NAME/callgate` with small letters only
    Image,
    /// `NAME/callgate`, also behind `github.com/`
    Slug,
}

impl Form {
    fn of(self, owner: &Owner) -> String {
        match self {
            Form::Address => owner.address(),
            Form::Image => owner.image(),
            Form::Slug => owner.slug(),
        }
    }
}

/// The name of an owner in a text.
struct Name {
    start: usize,
    form: Form,
}

/// All names of an owner in a text, in their order.
fn names(text: &str, owner: &Owner) -> Vec<Name> {
    let mut found = Vec::new();
    for form in [Form::Address, Form::Image, Form::Slug] {
        let name = form.of(owner);
        for (start, _) in text.match_indices(&name) {
            let is_image = text[..start].ends_with(REGISTRY);
            if is_whole(text, start, start + name.len()) && !(form == Form::Slug && is_image) {
                found.push(Name { start, form });
            }
        }
    }
    found.sort_by_key(|name| name.start);
    found
}

/// Whether a part of a text is not a part of a longer name. A dot behind it is the end of a sentence, or that of `.git`.
pub(super) fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || "-_".contains(letter);
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    !before.is_some_and(|letter| is_name(letter) || letter == '.') && !after.is_some_and(is_name)
}

/// The line of a place in a text, from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::parse(&format!("github.com/{name}/callgate")).unwrap()
    }

    /// A text in which `@` is the name of the repository and `:users` an address: otherwise the task would find owners here.
    fn text(written: &str) -> String {
        written.replace('@', "callgate").replace(":users", "@users")
    }

    #[test]
    fn whole_names_are_replaced() {
        let before = text(
            "https://github.com/A-b/@.git ghcr.io/a-b/@:1 `uses: A-b/@/.github` (A-b/@) A-b/@. A-b/@\n\
             A-b/@-web xA-b/@ .A-b/@ a-b/@ A-b/@s A-b/@é éA-b/@ ghcr.io/A-b/@ ghcr.io/a-b/@_\n\
             <A-b:users.noreply.github.com> b-A-b:users.noreply.github.com A-b:example.org",
        );
        let after = text(
            "https://github.com/C/@.git ghcr.io/c/@:1 `uses: C/@/.github` (C/@) C/@. C/@\n\
             A-b/@-web xA-b/@ .A-b/@ a-b/@ A-b/@s A-b/@é éA-b/@ ghcr.io/A-b/@ ghcr.io/a-b/@_\n\
             <C:users.noreply.github.com> b-A-b:users.noreply.github.com A-b:example.org",
        );
        assert_eq!(replaced(&before, &owner("A-b"), &owner("C")), after);
        assert_eq!(replaced(&after, &owner("C"), &owner("A-b")), before);
    }

    /// The image is that of both, and contains the name of one of them.
    #[test]
    fn owners_that_differ_in_case_have_one_image() {
        let (lower, capital) = (owner("ab"), owner("Ab"));
        let before = text("ghcr.io/ab/@ github.com/ab/@");
        let after = text("ghcr.io/ab/@ github.com/Ab/@");
        assert_eq!(replaced(&before, &lower, &capital), after);
        assert_eq!(replaced(&after, &capital, &lower), before);
    }
}
