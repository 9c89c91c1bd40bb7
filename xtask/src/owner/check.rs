//! What must name the owner, and what must not name another one.

use std::path::Path;

use callgate_tasks::Result;

use super::place::{Owner, PLACEHOLDER, VARIABLE};
use super::replace::{is_whole, line};
use super::tree::{File, paths, texts};

/// Files, and what each must contain: `{place}`, `{slug}` and `{image}` are the forms of [`Owner`].
const PLACES: &[(&str, &str)] = &[
    ("Cargo.toml", "repository = \"https://{place}\"\n"),
    ("Cargo.toml", "documentation = \"https://{place}/tree/main/docs\"\n"),
    ("book.toml", "git-repository-url = \"https://{place}\"\n"),
    (".github/workflows/release.yml", "IMAGE: {image}\n"),
    ("README.md", "go get {place}/bindings/go`"),
    ("README.md", "{image}:"),
    ("SECURITY.md", "https://{place}/security/advisories/new"),
    ("bindings/go/go.mod", "module {place}/bindings/go\n"),
    ("bindings/js/package.json", "\"git+https://{place}.git\""),
    ("bindings/js/package.json", "\"https://{place}/issues\""),
    ("bindings/python/pyproject.toml", "\"https://{place}\""),
    ("fleet/kubernetes/kustomization.yaml", "newName: {image}\n"),
    ("docs/how-to/review-in-ci.md", "uses: {slug}/.github/actions/review@"),
];

/// Files that are about the placeholder.
const ABOUT_PLACEHOLDER: [&str; 2] = ["docs/developers/releasing.md", "xtask/src/owner/place.rs"];

/// Fails if a file names another owner than the root's `Cargo.toml`, or none where it must. Returns how many places it found.
pub(super) fn check(root: &Path) -> Result<usize> {
    let owner = Owner::of(root)?;
    let files = texts(root, &paths(root)?)?;
    let mut errors = missing(&files, &owner);
    errors.extend(files.iter().flat_map(|file| strangers(file, &owner)));
    match errors.is_empty() {
        true => Ok(PLACES.len()),
        false => Err(format!("{} errors\n\n{}", errors.len(), errors.join("\n"))),
    }
}

/// Entries of [`PLACES`] that the files do not have, as messages.
fn missing(files: &[File], owner: &Owner) -> Vec<String> {
    let mut errors = Vec::new();
    for (path, template) in PLACES {
        let wanted = template
            .replace("{place}", &owner.place())
            .replace("{slug}", &owner.slug())
            .replace("{image}", &owner.image());
        let file = files.iter().find(|file| file.path == *path);
        if !file.is_some_and(|file| file.text.contains(&wanted)) {
            errors.push(format!("{path}: must contain {:?}", wanted.trim_end()));
        }
    }
    errors
}

/// Other owners in a file, as messages, and the name of the placeholder where the task would not replace it.
fn strangers(file: &File, owner: &Owner) -> Vec<String> {
    let File { path, text } = file;
    let mut errors = Vec::new();
    for (at, _) in text.match_indices("/callgate") {
        let before = &text[..at];
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let name = &before[before.trim_end_matches(is_name).len()..];
        let start = &before[..before.len() - name.len()];
        let end = at + "/callgate".len();
        if name.is_empty() || name == VARIABLE || !is_whole(text, start.len(), end) {
            continue;
        }
        let wanted = match () {
            () if start.ends_with("ghcr.io/") => owner.image(),
            () if start.ends_with("github.com/") => owner.place(),
            () if text[end..].starts_with("/.github/") && !start.ends_with('/') => owner.slug(),
            () => continue,
        };
        if !text[..end].ends_with(&wanted) {
            let line = line(text, at);
            errors.push(format!("{path}:{line}: {name:?} is not the owner; write {wanted}"));
        }
    }
    if !ABOUT_PLACEHOLDER.contains(&path.as_str()) {
        for (at, _) in text.match_indices(PLACEHOLDER) {
            let rest = &text[at + PLACEHOLDER.len()..];
            if !["/callgate", "@users.noreply.github.com"].iter().any(|end| rest.starts_with(end)) {
                let line = line(text, at);
                errors.push(format!(
                    "{path}:{line}: {PLACEHOLDER} would not be replaced; write {VARIABLE}/callgate or \
                     {VARIABLE}@users.noreply.github.com with that name"
                ));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use callgate_tasks::files::{make, remove};
    use callgate_tasks::workspace;

    use super::super::replace::replace;
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::parse(&format!("github.com/{name}/callgate")).unwrap()
    }

    fn file(text: &str) -> File {
        File { path: "a.md".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn this_tree_has_one_owner() {
        check(&workspace()).unwrap();
    }

    #[test]
    fn other_owners_are_found() {
        let place = |name: &str| ["github.com", name, "callgate"].join("/");
        let image = |name: &str| ["ghcr.io", name, "callgate:1"].join("/");
        let action = |name: &str| ["uses: ", name, "/callgate/.github/actions/review@"].concat();
        let found = |text: &str| strangers(&file(text), &owner("Us")).len();
        for good in [
            place("Us"),
            place("NAME"),
            image("us"),
            action("Us"),
            action("."),
            place("them") + "-web",
            "crates/callgate/src x.example/them/callgate /root/callgate/.github/".to_owned(),
        ] {
            assert_eq!(found(&good), 0, "{good}");
        }
        for bad in [place("them"), place("us"), image("them"), image("Us"), action("OWNER")] {
            assert_eq!(found(&bad), 1, "{bad}");
        }
        // Also where the tree has an owner.
        assert_eq!(found(&format!("gh attestation verify --owner {PLACEHOLDER}")), 1);
    }

    #[test]
    fn a_missing_place_is_an_error() {
        let files = [File { path: "docs/how-to/review-in-ci.md".to_owned(), text: String::new() }];
        let errors = missing(&files, &owner("us"));
        assert_eq!(errors.len(), PLACES.len());
        let action = format!("uses: {}/.github/actions/review@", owner("us").slug());
        let action = format!("docs/how-to/review-in-ci.md: must contain {action:?}");
        assert!(errors.contains(&action), "{errors:?}");
    }

    /// A copy of the tree, which is removed at the end.
    struct Copy {
        root: PathBuf,
        paths: Vec<String>,
    }

    impl Copy {
        fn new() -> Copy {
            let root = std::env::temp_dir().join(format!("callgate-owner-{}", std::process::id()));
            remove(&root).unwrap();
            let paths = paths(&workspace()).unwrap();
            for File { path, text } in texts(&workspace(), &paths).unwrap() {
                let target = root.join(path);
                make(target.parent().unwrap()).unwrap();
                fs::write(target, text).unwrap();
            }
            Copy { root, paths }
        }

        fn texts(&self) -> Vec<(String, String)> {
            let files = texts(&self.root, &self.paths).unwrap();
            files.into_iter().map(|file| (file.path, file.text)).collect()
        }
    }

    impl Drop for Copy {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.root);
        }
    }

    #[test]
    fn an_owner_can_be_replaced_and_replaced_back() {
        let copy = Copy::new();
        let before = copy.texts();
        let present = Owner::of(&workspace()).unwrap();
        let other = owner("A-Company-With-39-Letters-On-GitHub-abc");
        let changed = replace(&copy.root, &copy.paths, &present, &other).unwrap();
        for (path, _) in PLACES {
            assert!(changed.iter().any(|one| one == path), "{path}");
        }
        let files = texts(&copy.root, &copy.paths).unwrap();
        assert_eq!(Owner::of(&copy.root).unwrap(), other);
        assert_eq!(missing(&files, &other), Vec::<String>::new());
        let found: Vec<String> = files.iter().flat_map(|file| strangers(file, &other)).collect();
        assert_eq!(found, Vec::<String>::new());
        assert_ne!(copy.texts(), before);

        replace(&copy.root, &copy.paths, &other, &present).unwrap();
        assert_eq!(copy.texts(), before);

        // What could not be told apart afterwards is refused, and nothing is written.
        fs::write(copy.root.join("README.md"), "\n".to_owned() + &other.image()).unwrap();
        let before = copy.texts();
        let error = replace(&copy.root, &copy.paths, &present, &other).unwrap_err();
        assert!(error.starts_with("README.md:2: names ghcr.io/a-company-"), "{error}");
        assert_eq!(copy.texts(), before);
    }
}
