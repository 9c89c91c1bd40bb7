//! The objects of a JSON text: which of them a position is in.

use callgate_bpf::diagnostic::Position;

/// An object from its `{` to its `}`.
#[derive(Clone, Copy, Debug)]
struct Object {
    start: Position,
    end: Position,
    /// The index of the object around it.
    parent: Option<usize>,
}

/// The objects of a text, in the order of their starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects(Vec<Object>);

impl Objects {
    /// Finds the objects; none in a text that is not JSON.
    pub(super) fn of(text: &str) -> Objects {
        let mut objects = Objects::default();
        if !text.trim_start().starts_with(['{', '[']) {
            return objects;
        }
        let mut open = Vec::new();
        let (mut line, mut column) = (1, 0);
        let (mut in_string, mut is_escaped) = (false, false);
        for char in text.chars() {
            column += 1;
            let here = Position { line, column };
            match char {
                '\n' => (line, column) = (line + 1, 0),
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = in_string,
                '"' => in_string = !in_string,
                '{' if !in_string => {
                    let parent = open.last().copied();
                    open.push(objects.0.len());
                    let end = Position { line: u32::MAX, column: u32::MAX };
                    objects.0.push(Object { start: here, end, parent });
                }
                '}' if !in_string => {
                    let closed = open.pop().and_then(|index: usize| objects.0.get_mut(index));
                    if let Some(object) = closed {
                        object.end = here;
                    }
                }
                _ => {}
            }
        }
        objects
    }

    /// The innermost object that contains a position.
    pub(super) fn around(&self, position: Position) -> Option<usize> {
        let key = |position: Position| (position.line, position.column);
        let before = self.0.partition_point(|object| key(object.start) <= key(position));
        let mut index = before.checked_sub(1)?;
        loop {
            let object = self.0.get(index)?;
            if key(position) <= key(object.end) {
                return Some(index);
            }
            index = object.parent?;
        }
    }

    /// The object around another one.
    pub(super) fn parent(&self, index: usize) -> Option<usize> {
        self.0.get(index)?.parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_in_the_innermost_object() {
        let objects = Objects::of("{\n \"a\": [{\"}\\\"{\": {}},\n  {}],\n}");
        let at = |line, column| objects.around(Position { line, column });
        assert_eq!([at(1, 1), at(2, 2), at(2, 8), at(2, 9)], [Some(0), Some(0), Some(1), Some(1)]);
        // The braces in the key are text.
        assert_eq!([at(2, 17), at(2, 18), at(2, 19)], [Some(2), Some(2), Some(1)]);
        assert_eq!([at(2, 20), at(3, 3), at(3, 6), at(4, 1)], [Some(0), Some(3), Some(0), Some(0)]);
        assert_eq!(at(5, 1), None);
        assert_eq!([objects.parent(2), objects.parent(3)], [Some(1), Some(0)]);
        assert!(Objects::of("# {\n{}").0.is_empty());
    }
}
