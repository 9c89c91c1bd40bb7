//! The dynamic section: libraries, their search paths, tables for the loader.

use object::LittleEndian as LE;
use object::elf::{self, Dyn64};

use super::layout::{Layout, string, table};
use crate::error::ElfErrorKind as Kind;
use crate::limits::{MAX_DYNAMIC, MAX_NAME};

/// What the dynamic section says. Addresses are those of the tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Dynamic {
    pub(super) needed: Vec<String>,
    pub(super) soname: Option<String>,
    pub(super) rpath: Vec<String>,
    pub(super) runpath: Vec<String>,
    pub(super) strings: Option<(u64, u64)>,
    pub(super) symbols: Option<u64>,
    pub(super) versions: Option<u64>,
    pub(super) defined_versions: Option<u64>,
    pub(super) needed_versions: Option<u64>,
    pub(super) hash: Option<u64>,
    pub(super) gnu_hash: Option<u64>,
    /// Address and size of tables with addends.
    pub(super) rela: Vec<(u64, u64)>,
    pub(super) relr: Option<(u64, u64)>,
    /// Functions that the loader calls.
    pub(super) calls: Vec<u64>,
    /// Arrays of functions that the loader calls, and their sizes.
    pub(super) arrays: Vec<(u64, u64)>,
}

impl Dynamic {
    pub(super) fn read(layout: &Layout) -> Result<Option<Dynamic>, Kind> {
        let Some((offset, size)) = layout.dynamic else { return Ok(None) };
        let count = size / size_of::<Dyn64<LE>>() as u64;
        let entries: &[Dyn64<LE>] =
            table(layout.data(), "dynamic section", offset, count, MAX_DYNAMIC)?;
        let entries = entries.iter().map(|entry| (entry.d_tag.get(LE), entry.d_val.get(LE)));
        let entries: Vec<_> = entries.take_while(|(tag, _)| *tag != elf::DT_NULL).collect();
        let value = |wanted: elf::DynamicTag| {
            entries.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value)
        };
        let strings = value(elf::DT_STRTAB).zip(value(elf::DT_STRSZ));
        let bytes = strings.and_then(|(address, size)| {
            let (offset, rest) = layout.offset(address)?;
            layout.file(offset, size.min(rest))
        });
        let text = |offset: u64| string(bytes?, offset).map(str::to_owned);
        let texts = |wanted: elf::DynamicTag| -> Vec<String> {
            let values = entries.iter().filter(|(tag, _)| *tag == wanted);
            values.filter_map(|(_, value)| text(*value)).collect()
        };
        let paths = |wanted: elf::DynamicTag| -> Vec<String> {
            let split = |list: String| list.split(':').map(str::to_owned).collect::<Vec<_>>();
            let paths = texts(wanted).into_iter().flat_map(split);
            paths.filter(|path| !path.is_empty() && path.len() < MAX_NAME).collect()
        };
        let pair = |address, size| value(address).zip(value(size));
        let arrays = [
            (elf::DT_PREINIT_ARRAY, elf::DT_PREINIT_ARRAYSZ),
            (elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ),
            (elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ),
        ];
        let rela = [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)];
        Ok(Some(Dynamic {
            needed: texts(elf::DT_NEEDED),
            soname: texts(elf::DT_SONAME).pop(),
            rpath: paths(elf::DT_RPATH),
            runpath: paths(elf::DT_RUNPATH),
            strings,
            symbols: value(elf::DT_SYMTAB),
            versions: value(elf::DT_VERSYM),
            defined_versions: value(elf::DT_VERDEF),
            needed_versions: value(elf::DT_VERNEED),
            hash: value(elf::DT_HASH),
            gnu_hash: value(elf::DT_GNU_HASH),
            rela: rela.into_iter().filter_map(|(address, size)| pair(address, size)).collect(),
            relr: pair(elf::DT_RELR, elf::DT_RELRSZ),
            calls: [elf::DT_INIT, elf::DT_FINI].into_iter().filter_map(value).collect(),
            arrays: arrays.into_iter().filter_map(|(address, size)| pair(address, size)).collect(),
        }))
    }
}
