//! How the caller names its options: the advice in messages.

/// The advice in messages about sources, in the words of the caller.
#[derive(Debug)]
pub struct Wording {
    /// How variables get values before a filter is compiled.
    pub give_values: &'static str,
    /// The same before filters are merged.
    pub give_values_to_merge: &'static str,
    /// How two filters are made to be for machines of one byte order.
    pub one_byte_order: &'static str,
    /// How an architecture is chosen.
    pub choose_arch: &'static str,
    /// How one architecture is given.
    pub one_arch: &'static str,
    /// What to do if a text contradicts the given byte order.
    pub byte_order: &'static str,
    /// How the format of a source is given.
    pub give_format: &'static str,
    /// How one is chosen for a text that is both a profile and a program.
    pub choose_format: &'static str,
    /// How bytes that are not text are given as instructions.
    pub give_raw: &'static str,
    /// How a file is given whose name was given as a text.
    pub give_content: &'static str,
    /// What takes socket filters.
    pub socket_filters: &'static str,
    /// The message and the help for a part of a source that has none.
    pub no_parts: [&'static str; 2],
    /// How an Android filter is chosen in a directory; the name is empty for the only one.
    pub android_filter: fn(directory: &str, filter: &str) -> String,
    /// What to do about an empty source with this name.
    pub empty: fn(name: &str) -> &'static str,
    /// How a command such as `gzip -dc` is applied to the source with this name.
    pub converted: fn(command: &str, name: &str) -> String,
}

impl Wording {
    /// The words of requests in JSON, and of interfaces that have the same settings.
    pub const REQUEST: &Wording = &Wording {
        give_values: "give the values with `set`, or request a `template`",
        give_values_to_merge: "give the values with `set`",
        one_byte_order: "give one machine for both, or the byte order of a program",
        choose_arch: "give other `arches`",
        one_arch: "give one architecture",
        byte_order: "omit the architectures and the byte order, or give that of the text",
        give_format: "give its `format`",
        choose_format: "give its `format`: oci or bpftext",
        give_raw: "give a program as `insns` or `hex`",
        give_content: "read the file, and give what it contains as the text",
        socket_filters: "",
        no_parts: [
            "a text in this format has no parts with names",
            "`part` is for Kubernetes resources, Firecracker threads and arrays in source code",
        ],
        android_filter: |_, filter| match filter {
            "" => "omit `part`".to_owned(),
            filter => format!("`part`: \"{filter}\""),
        },
        empty: |_| "",
        converted: |command, name| format!("{command} {name}"),
    };

    /// The words of this library.
    pub const LIBRARY: &Wording = &Wording {
        give_values: "give the values with `SourceText::values`, or use `SourceText::compile_template`",
        give_values_to_merge: "give the values with `SourceText::values`",
        one_byte_order: "give one machine for both, or `Reading::endian` of a program",
        choose_arch: "give other `Reading::arches`",
        byte_order: "omit `Reading::arches` and `Reading::endian`, or give those of the text",
        give_format: "give its `SourceText::format`",
        choose_format: "give its `SourceText::format`: oci or bpftext",
        give_raw: "give a program as `SourceContent::Insns` or `SourceContent::Bytes`",
        give_content: "give what it contains: `std::fs::read_to_string`, and the name with `SourceText::named`",
        no_parts: [
            "a text in this format has no parts with names",
            "`SourceText::part` is for Kubernetes resources, Firecracker threads and arrays in source code",
        ],
        android_filter: |_, filter| match filter {
            "" => "omit `SourceText::part`".to_owned(),
            filter => format!("`SourceText::part`: \"{filter}\""),
        },
        ..*Wording::REQUEST
    };
}
