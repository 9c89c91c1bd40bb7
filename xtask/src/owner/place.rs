//! The place of the tree, and the forms in which files name it.

use std::path::Path;

use callgate_tasks::Result;
use callgate_tasks::files::read;

/// The name until there is an owner. Nobody can register it: GitHub refuses names with two hyphens in a row.
pub(super) const PLACEHOLDER: &str = "no--owner";

/// The name in descriptions of the form.
pub(super) const VARIABLE: &str = "NAME";

/// The maximum length of a name on GitHub.
const MAX_NAME: usize = 39;

/// An account on GitHub that has the repository `callgate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    name: String,
}

impl Owner {
    /// Reads `github.com/NAME/callgate`.
    pub(super) fn parse(place: &str) -> Result<Owner> {
        let name = name_in(place)
            .map_err(|why| format!("{place:?}: {why}; the form is github.com/NAME/callgate"))?;
        Ok(Owner { name: name.to_owned() })
    }

    /// The owner of the tree with this root.
    pub(crate) fn of(root: &Path) -> Result<Owner> {
        let path = root.join("Cargo.toml");
        let text = String::from_utf8_lossy(&read(&path)?).into_owned();
        let place = text
            .lines()
            .skip_while(|line| *line != "[workspace.package]")
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .find_map(|line| line.strip_prefix("repository = \"https://")?.strip_suffix('"'))
            .ok_or_else(|| {
                let path = path.display();
                format!("{path}: [workspace.package] has no line `repository = \"https://…\"`")
            })?;
        Owner::parse(place).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Whether nobody owns the tree yet.
    pub(crate) fn is_placeholder(&self) -> bool {
        self.name == PLACEHOLDER
    }

    /// `github.com/NAME/callgate`: the repository without `https://`, and the beginning of the path of the Go module.
    pub(crate) fn place(&self) -> String {
        format!("github.com/{}", self.slug())
    }

    /// `NAME/callgate`: the repository for `gh` and in `uses:` of workflows.
    pub(crate) fn slug(&self) -> String {
        format!("{}/callgate", self.name)
    }

    /// The owner's address at GitHub, which takes no mail.
    pub(crate) fn address(&self) -> String {
        format!("{}@users.noreply.github.com", self.name)
    }

    /// The image in GitHub's registry. Names of images have no capital letters.
    pub(crate) fn image(&self) -> String {
        format!("ghcr.io/{}/callgate", self.name.to_ascii_lowercase())
    }
}

/// The name in `github.com/NAME/callgate`; the error is a reason.
fn name_in(place: &str) -> Result<&str> {
    if place.contains("://") {
        return Err("leave out the scheme".to_owned());
    }
    let parts: Vec<&str> = place.split('/').collect();
    let name = match parts[..] {
        ["github.com", name, "callgate"] => name,
        ["github.com", _, other] => {
            return Err(format!("the repository must be called callgate, not {other:?}"));
        }
        ["github.com", ..] => return Err("it is not a repository".to_owned()),
        [host, _, ..] if host.contains('.') => {
            return Err(format!(
                "the host must be github.com, not {host}: the workflows that publish, the review action and the images are GitHub's"
            ));
        }
        _ => return Err("it is not a host with a repository".to_owned()),
    };
    if name == VARIABLE {
        return Err(format!("{VARIABLE} stands for the name of the owner"));
    }
    let is_known = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_known) {
        return Err(format!(
            "{name:?} is not a name on GitHub, which has 1 to {MAX_NAME} letters, digits and hyphens"
        ));
    }
    let is_separating = !name.starts_with('-') && !name.ends_with('-') && !name.contains("--");
    if !is_separating && name != PLACEHOLDER {
        return Err(format!(
            "{name:?} is not a name on GitHub: a hyphen stands between two letters or digits"
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_forms() {
        let owner = Owner::parse(&format!("github.com/{}/callgate", "A-Company")).unwrap();
        assert_eq!(owner.place(), ["github.com", "A-Company", "callgate"].join("/"));
        assert_eq!(owner.slug(), ["A-Company", "callgate"].join("/"));
        assert_eq!(owner.image(), ["ghcr.io", "a-company", "callgate"].join("/"));
        assert_eq!(owner.address(), ["A-Company", "users.noreply.github.com"].join("@"));
        assert!(!owner.is_placeholder());
        assert!(Owner { name: PLACEHOLDER.to_owned() }.is_placeholder());
    }

    #[test]
    fn other_forms_are_refused_with_a_reason() {
        let long = "a".repeat(MAX_NAME + 1);
        let of = |name: &str| ["github.com", name, "callgate"].join("/");
        for (place, reason) in [
            (String::new(), "not a host with a repository"),
            ("callgate".to_owned(), "not a host with a repository"),
            ("somebody/callgate".to_owned(), "not a host with a repository"),
            ("github.com/x".to_owned(), "not a repository"),
            (of("x") + "/", "not a repository"),
            (of("x") + "/y", "not a repository"),
            ("github.com/x/gate".to_owned(), "must be called callgate, not \"gate\""),
            (of("x") + ".git", "must be called callgate, not \"callgate.git\""),
            (["gitlab.com", "group", "callgate"].join("/"), "must be github.com, not gitlab.com"),
            ("https://".to_owned() + &of("x"), "leave out the scheme"),
            (of(""), "1 to 39 letters"),
            (of(&long), "1 to 39 letters"),
            (of("a b"), "1 to 39 letters"),
            (of(" x"), "1 to 39 letters"),
            (of("a_b"), "1 to 39 letters"),
            (of("é"), "1 to 39 letters"),
            (of("-a"), "a hyphen stands between"),
            (of("a-"), "a hyphen stands between"),
            (of("a--b"), "a hyphen stands between"),
            (of(VARIABLE), "stands for the name"),
            (" ".to_owned() + &of("x"), "must be github.com, not  github.com"),
            (of("x") + "\n", "must be called callgate"),
        ] {
            let error = Owner::parse(&place).unwrap_err();
            assert!(error.contains(reason), "{place:?}: {error}");
            assert!(error.ends_with("; the form is github.com/NAME/callgate"), "{error}");
        }
    }
}
