//! A document as a tree.

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// A number as written.
    Number(String),
    Text(String),
    List(Vec<Value>),
    /// Members in the order of the text; a key may be repeated.
    Map(Vec<(String, Value)>),
}

impl Value {
    pub(super) fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    pub(super) fn texts(texts: &[&str]) -> Value {
        Value::List(texts.iter().map(|text| Value::text(text)).collect())
    }

    pub(super) fn map(members: Vec<(&str, Value)>) -> Value {
        Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Calls this function for each value in the tree, the inner ones first.
    pub(super) fn each(&mut self, change: &mut dyn FnMut(&mut Value)) {
        match self {
            Value::List(items) => items.iter_mut().for_each(|item| item.each(change)),
            Value::Map(members) => members.iter_mut().for_each(|(_, value)| value.each(change)),
            _ => {}
        }
        change(self);
    }
}
