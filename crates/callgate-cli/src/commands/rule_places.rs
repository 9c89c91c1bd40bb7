//! Where profiles have their rules, for `explain --why`.

use std::collections::BTreeMap;

use callgate::{Arch, explain};
use callgate_formats::statements::{Site, Statement};
use callgate_requests::explanation::verdict_json;
use callgate_requests::json::Json;

use crate::source::SourceStack;
use crate::text::printable;

/// The rules of the filters of a source.
pub(crate) struct RulePlaces<'s> {
    /// The rules of each syscall, by arch token and number, with the names of their filters.
    rules: BTreeMap<(u32, u32), Vec<(&'s str, &'s Statement)>>,
    /// The default actions.
    defaults: Vec<String>,
}

fn place(filter: &str, site: &Site) -> String {
    let file = printable(site.file.as_deref().unwrap_or(filter));
    format!("{file}:{}:{}", site.position.line, site.position.column)
}

impl<'s> RulePlaces<'s> {
    pub(crate) fn of(stack: &'s SourceStack) -> RulePlaces<'s> {
        let mut places = RulePlaces { rules: BTreeMap::new(), defaults: Vec::new() };
        for filter in &stack.filters {
            let Some(statements) = filter.statements() else { continue };
            for rule in &statements.rules {
                let key = (rule.arch.token(), rule.nr);
                places.rules.entry(key).or_default().push((&filter.name, rule));
            }
            let default = statements.default.iter().map(|site| place(&filter.name, site));
            places.defaults.extend(default);
        }
        places.defaults.dedup();
        places
    }

    /// All rules of these syscalls; `shown` tells which ones.
    pub(crate) fn json(&self, shown: impl Fn(u32, u32) -> bool) -> Json {
        let rules = self.rules.iter().filter(|((token, nr), _)| shown(*token, *nr));
        Json::array(rules.flat_map(|(_, rules)| rules).map(|(filter, rule)| {
            Json::Object(vec![
                ("arch", rule.arch.name().into()),
                ("nr", rule.nr.into()),
                ("name", rule.name.as_str().into()),
                ("verdict", verdict_json(rule.verdict)),
                ("file", rule.site.file.as_deref().unwrap_or(filter).into()),
                ("line", rule.site.position.line.into()),
                ("column", rule.site.position.column.into()),
            ])
        }))
    }
}

impl explain::RulePlaces for RulePlaces<'_> {
    fn of_syscall(&self, arch: Arch, nr: u32) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (filter, rule) in self.rules.get(&(arch.token(), nr)).into_iter().flatten() {
            let place = place(filter, &rule.site);
            if !found.contains(&place) {
                found.push(place);
            }
        }
        found
    }

    fn defaults(&self) -> &[String] {
        &self.defaults
    }
}
