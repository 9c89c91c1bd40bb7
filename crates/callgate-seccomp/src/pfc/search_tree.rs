//! The comparisons of the syscall number with `SCMP_FLTATR_CTL_OPTIMIZE` 2: leaves of four syscalls below a binary tree.

use super::lines::line;

/// The number of syscalls in a leaf.
const LEAF: usize = 4;

/// The position in the tree while the syscalls are written, in descending order of their numbers.
pub(super) struct SearchTree {
    /// The number of levels; 0 for a plain list.
    levels: u32,
    /// How many syscalls are written.
    written: usize,
    indent: usize,
}

impl SearchTree {
    /// A tree for this number of syscalls.
    pub(super) fn new(syscalls: usize) -> SearchTree {
        let mut levels = 0;
        if syscalls > 0 {
            levels = 1;
            while LEAF << (levels - 1) < syscalls {
                levels += 1;
            }
        }
        SearchTree { levels, written: 0, indent: 1 }
    }

    /// The indentation of the next syscall.
    pub(super) fn indent(&self) -> usize {
        self.indent
    }

    /// Writes the branches that precede the next syscall; `numbers` are those of the syscalls that are left.
    pub(super) fn open(&mut self, out: &mut String, numbers: &[u32]) {
        for level in (1..self.levels).rev() {
            let (whole, half) = (LEAF << level, LEAF << (level - 1));
            if self.written % whole == 0 {
                // The last subtree may have too few syscalls for another branch.
                let Some(middle) = numbers.get(half) else { continue };
                line(out, self.indent, format_args!("if ($syscall > {middle})"));
                self.indent += 1;
            } else if self.written % half == 0 {
                let Some(first) = numbers.first() else { continue };
                let indent = self.indent.saturating_sub(1);
                line(out, indent, format_args!("else # ($syscall <= {first})"));
            }
        }
    }

    /// Ends the subtrees of which the syscall that was just written was the last one.
    pub(super) fn close(&mut self) {
        self.written += 1;
        let ended = (0..self.levels).filter(|level| self.written % ((2 * LEAF) << level) == 0);
        self.indent = self.indent.saturating_sub(ended.count());
    }
}
