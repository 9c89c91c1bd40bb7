//! Counts the lines of a policy, of its compilation at build time, and of the code that installs the filter.

/// What lines are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Policy,
    Build,
    Start,
}

/// Numbers of lines that are neither empty nor comments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) policy: usize,
    pub(super) build: usize,
    pub(super) start: usize,
}

impl Lines {
    /// Adds a text that is written as a whole.
    pub(super) fn add(&mut self, part: Part, text: &str) {
        let count = text.lines().filter(|line| has_code(line)).count();
        match part {
            Part::Policy => self.policy += count,
            Part::Build => self.build += count,
            Part::Start => self.start += count,
        }
    }

    /// Adds the parts of a driver between comments such as `counted: start` and `counted: end`.
    pub(super) fn add_marked(&mut self, text: &str) {
        let mut open = None;
        for line in text.lines() {
            match line.split_once("counted: ").map(|(_, word)| word.trim_end_matches(" */")) {
                Some("policy") => open = Some(Part::Policy),
                Some("build") => open = Some(Part::Build),
                Some("start") => open = Some(Part::Start),
                Some(_) => open = None,
                None => {
                    if let Some(part) = open {
                        self.add(part, line);
                    }
                }
            }
        }
    }

    pub(super) fn total(self) -> usize {
        self.policy + self.build + self.start
    }
}

fn has_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !["//", "/*", "* "].iter().any(|comment| line.starts_with(comment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_lines_are_counted_without_comments() {
        let mut lines = Lines::default();
        lines.add_marked(
            "not counted\n/* counted: policy */\na\n\n  // no\nb\n/* counted: end */\nno\n\
             // counted: start\nc\n// counted: end\n// counted: build\nd\ne\nf\n",
        );
        assert_eq!(lines, Lines { policy: 2, build: 3, start: 1 });
        lines.add(Part::Policy, "// comment\nALLOW {\n}\n");
        assert_eq!((lines.policy, lines.total()), (4, 8));
    }
}
