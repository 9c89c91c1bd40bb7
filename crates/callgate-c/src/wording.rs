//! Advice about sources in the words of `callgate.h`.

use callgate_requests::source::Wording;

/// The words of the C functions.
pub(crate) const WORDING: &Wording = &Wording {
    give_values: "give the values with callgate_source_set_variable, or use callgate_compile_template",
    give_values_to_merge: "give the values with callgate_source_set_variable",
    one_byte_order: "set one `machine` for both, or the `endian` of a program",
    choose_arch: "set other `arches`",
    byte_order: "do not set `arches` and `endian`, or set those of the text",
    give_format: "set its `format`",
    choose_format: "set its `format`: oci or bpftext",
    give_raw: "give a program with callgate_source_program",
    give_content: "read the file, such as with fread(3), and give what it contains",
    android_filter: |_, filter| match filter {
        "" => "do not set `part`".to_owned(),
        filter => format!("set `part` to \"{filter}\""),
    },
    ..*Wording::REQUEST
};
