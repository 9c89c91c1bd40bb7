//! The list of programs, and how they are used.

use std::path::PathBuf;

use callgate_tasks::Result;

const USES: &str = include_str!("uses.txt");

/// A program and a script that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) program: PathBuf,
    /// Whether it is one of the servers and databases that other authors measure.
    pub(super) is_popular: bool,
    pub(super) script: String,
}

impl Use {
    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// All uses: a line `== PROGRAM [popular]`, then the lines of the script.
pub(super) fn all() -> Result<Vec<Use>> {
    let mut uses: Vec<Use> = Vec::new();
    for line in USES.lines().filter(|line| !line.starts_with("##")) {
        match (line.strip_prefix("== "), uses.last_mut()) {
            (Some(head), _) => {
                let mut words = head.split(' ');
                let program = PathBuf::from(words.next().unwrap_or_default());
                let is_popular = words.next() == Some("popular");
                uses.push(Use { program, is_popular, script: String::new() });
            }
            (None, Some(last)) => {
                last.script += line;
                last.script.push('\n');
            }
            (None, None) if line.is_empty() => {}
            (None, None) => {
                return Err(format!("uses.txt: a line before the first program: {line}"));
            }
        }
    }
    Ok(uses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_listed_once_with_a_script() {
        let uses = all().unwrap();
        let mut programs: Vec<_> = uses.iter().map(|one| one.program.clone()).collect();
        programs.sort();
        programs.dedup();
        assert_eq!(programs.len(), uses.len());
        assert!(uses.len() >= 50, "{}", uses.len());
        for one in &uses {
            assert!(one.program.starts_with("/usr"), "{one:?}");
            assert!(one.script.contains(&one.name()), "{one:?}");
        }
    }
}
