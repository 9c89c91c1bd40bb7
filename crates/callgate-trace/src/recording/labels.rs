//! Labels that all runs have in common which made a syscall: for example all of them on one node.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Labels that are shared between syscalls, because most have the same ones. `None`: there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CommonLabels(Option<Arc<BTreeMap<String, String>>>);

impl CommonLabels {
    pub(super) fn of(labels: BTreeMap<String, String>) -> CommonLabels {
        CommonLabels((!labels.is_empty()).then(|| Arc::new(labels)))
    }

    /// The labels that all of these have in common; none if there are none of these.
    pub(super) fn of_all<'a>(
        all: impl IntoIterator<Item = &'a BTreeMap<String, String>>,
    ) -> CommonLabels {
        let mut all = all.into_iter();
        let mut common = CommonLabels::of(all.next().cloned().unwrap_or_default());
        all.for_each(|labels| common.intersect_with(labels));
        common
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.0.iter().flat_map(|labels| labels.iter());
        labels.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub(super) fn insert(&mut self, key: &str, value: &str) {
        let mut labels = self.0.as_deref().cloned().unwrap_or_default();
        labels.insert(key.to_owned(), value.to_owned());
        *self = CommonLabels::of(labels);
    }

    /// Keeps only labels that others have too.
    pub(super) fn intersect(&mut self, other: &CommonLabels) {
        match (&self.0, &other.0) {
            (Some(own), Some(others)) if Arc::ptr_eq(own, others) => {}
            (Some(_), Some(others)) => self.intersect_with(others),
            _ => self.0 = None,
        }
    }

    fn intersect_with(&mut self, others: &BTreeMap<String, String>) {
        let Some(own) = &self.0 else { return };
        let is_common = |(key, value): &(&String, &String)| others.get(*key) == Some(*value);
        if !own.iter().all(|label| is_common(&label)) {
            let common = own.iter().filter(is_common);
            *self =
                CommonLabels::of(common.map(|(key, value)| (key.clone(), value.clone())).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_all_have_is_common() {
        let of = |labels: &[(&str, &str)]| -> BTreeMap<String, String> {
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let (a, b) = (of(&[("node", "a"), ("image", "x")]), of(&[("node", "b"), ("image", "x")]));
        let both = CommonLabels::of_all([&a, &b]);
        assert!(both.iter().eq([("image", "x")]));
        assert_eq!(CommonLabels::of_all([&b, &a]), both);
        assert_eq!(CommonLabels::of_all([&a, &b, &of(&[])]), CommonLabels::default());
        let mut common = CommonLabels::of(a);
        common.intersect(&common.clone());
        assert_eq!(common.iter().count(), 2);
        common.intersect(&both);
        assert_eq!(common, both);
        common.intersect(&CommonLabels::default());
        assert_eq!(common, CommonLabels::default());
    }
}
