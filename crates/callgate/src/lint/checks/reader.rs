//! The warnings of readers, as findings.

use callgate_bpf::diagnostic::Topic;
use callgate_formats::statements::Site;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::Findings;
use crate::lint::view::View;

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, subject) in view.subjects.iter().enumerate() {
        let of_files = subject.warnings_of_files.iter();
        let of_files = of_files.map(|(file, warning)| (Some(file), warning));
        for (file, warning) in subject.warnings.iter().map(|one| (None, one)).chain(of_files) {
            let check = match warning.topic {
                Some(Topic::OrConditions) => Check::OrConditions,
                // The checks of rules, multiplexers and ABIs find these as well, with examples.
                Some(Topic::Overruled | Topic::Multiplexer) if subject.statements.is_some() => {
                    continue;
                }
                Some(Topic::X32) => continue,
                Some(Topic::Overruled) => Check::Overruled,
                Some(Topic::Multiplexer) => Check::Multiplexer,
                Some(Topic::NeverMatches) => Check::NeverMatches,
                None => Check::Profile,
            };
            let site = warning.position.map(|position| Site { file: file.cloned(), position });
            let finding = Finding::new(check, warning.message.clone()).help(warning);
            findings.add(finding.at((filter, site)));
        }
    }
    Ok(())
}
