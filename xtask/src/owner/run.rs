//! The task.

use callgate_tasks::{Result, workspace};

use super::check::check;
use super::place::Owner;
use super::replace::replace;
use super::tree::paths;

pub(crate) const HELP: &str = "\
usage: cargo xtask owner [github.com/NAME/callgate | --check]

Prints where the tree is published, or writes another place into every file that
names it: the manifests for crates, npm, pip and Go, imports, documents, names of
images and of the review action. docs/developers/releasing.md says what else an owner does.

  github.com/NAME/callgate   the repository of the new owner
  --check                    fail if a file has another owner than Cargo.toml, or
                             none where it must have one
";

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let root = workspace();
    let old = Owner::of(&root)?;
    match arguments {
        [] => {
            println!("{}", old.place());
            if old.is_placeholder() {
                eprintln!("This is a placeholder: nobody owns the tree yet.");
            }
        }
        [option] if option == "--check" => {
            let places = check(&root)?;
            println!("{places} places name {}, and none names another owner", old.place());
        }
        [place] if !place.starts_with('-') => {
            let new = Owner::parse(place)?;
            let changed = replace(&root, &paths(&root)?, &old, &new)?;
            check(&root)?;
            for path in &changed {
                println!("{path}");
            }
            println!("{} files changed from {} to {}", changed.len(), old.place(), new.place());
        }
        [argument, ..] => return Err(format!("unexpected argument {argument:?}; try --help")),
    }
    Ok(())
}
