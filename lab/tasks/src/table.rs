//! Tables in Markdown and as plain text.

/// A table; the first column has names, the others figures.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: impl IntoIterator<Item = impl Into<String>>) -> Table {
        Table { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells stay empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.head.len(), String::new());
        self.rows.push(cells);
    }

    /// How wide each column must be.
    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = std::iter::once(&self.head).chain(&self.rows).map(|row| &row[column]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.head.len()).map(width).collect()
    }

    /// As Markdown, with aligned columns.
    pub(crate) fn markdown(&self) -> String {
        let widths: Vec<usize> = self.widths().iter().map(|width| (*width).max(3)).collect();
        let rule = |(column, width): (usize, &usize)| match column {
            0 => "-".repeat(*width),
            _ => "-".repeat(width - 1) + ":",
        };
        let rule: Vec<String> = widths.iter().enumerate().map(rule).collect();
        let line = |cells: &[String]| format!("| {} |\n", aligned(cells, &widths).join(" | "));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        line(&self.head) + &line(&rule) + &rows
    }

    /// As Markdown, for cells of prose: not aligned, so that a change of one cell changes one line.
    pub(crate) fn prose(&self) -> String {
        let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = "|---".repeat(self.head.len()) + "|\n";
        line(&self.head) + &rule + &self.rows.iter().map(line).collect::<String>()
    }

    /// As plain text, for a terminal.
    pub(crate) fn plain(&self) -> String {
        let widths = self.widths();
        let line =
            |cells: &Vec<String>| aligned(cells, &widths).join("  ").trim_end().to_owned() + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }
}

/// Aligns the first cell to the left, the others to the right.
fn aligned(cells: &[String], widths: &[usize]) -> Vec<String> {
    let aligned = |(column, (cell, width)): (usize, (&String, &usize))| match column {
        0 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    };
    cells.iter().zip(widths).enumerate().map(aligned).collect()
}

/// A time with three digits.
pub(crate) fn time(time: std::time::Duration) -> String {
    let microseconds = time.as_secs_f64() * 1e6;
    match microseconds {
        us if us < 9.995 => format!("{us:.2} µs"),
        us if us < 99.95 => format!("{us:.1} µs"),
        us if us < 999.5 => format!("{us:.0} µs"),
        us if us < 9_995.0 => format!("{:.2} ms", us / 1e3),
        us if us < 99_950.0 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// An integer with thousands separators.
pub(crate) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["who", "time"]);
        table.row(["Callgate", "9 µs"]);
        table.row(["b"]);
        table
    }

    #[test]
    fn markdown_is_aligned() {
        let expected = "\
| who      | time |
| -------- | ---: |
| Callgate | 9 µs |
| b        |      |
";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn prose_is_not_padded() {
        assert_eq!(table().prose(), "| who | time |\n|---|---|\n| Callgate | 9 µs |\n| b |  |\n");
    }

    #[test]
    fn a_terminal_gets_columns() {
        assert_eq!(table().plain(), "who       time\nCallgate  9 µs\nb\n");
    }

    #[test]
    fn times_have_three_digits() {
        let of = |nanoseconds| time(Duration::from_nanos(nanoseconds));
        assert_eq!(of(1_234), "1.23 µs");
        assert_eq!(of(9_999), "10.0 µs");
        assert_eq!(of(123_456), "123 µs");
        assert_eq!(of(999_700), "1.00 ms");
        assert_eq!(of(45_678_000), "45.7 ms");
        assert_eq!(of(815_000_000), "815 ms");
        assert_eq!(of(10_200_000_000), "10.2 s");
    }

    #[test]
    fn counts_have_separators() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
