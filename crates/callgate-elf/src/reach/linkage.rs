//! Which definition the loader binds a symbol to.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::image::{Image, SymbolKind};

/// A definition of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The number of the file.
    pub(crate) image: usize,
    pub(crate) address: u64,
    pub(crate) kind: SymbolKind,
}

/// The definitions of all files, in the order in which the loader looks them up.
#[derive(Clone, Debug)]
pub(crate) struct Linkage {
    /// Hash of the name, number of the file, number of the symbol; sorted.
    exports: Vec<(u64, u32, u32)>,
}

fn hash(name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name.as_bytes());
    hasher.finish()
}

impl Linkage {
    pub(crate) fn of(images: &[Image]) -> Linkage {
        let mut exports = Vec::new();
        for (number, image) in images.iter().enumerate() {
            for (index, symbol) in image.exports.all.iter().enumerate() {
                let is_exported =
                    symbol.is_defined && !symbol.is_local && symbol.kind != SymbolKind::ThreadLocal;
                if !is_exported {
                    continue;
                }
                if let Some(name) = image.exports.name(&image.layout, symbol.name) {
                    exports.push((hash(name), number as u32, index as u32));
                }
            }
        }
        exports.sort_unstable();
        Linkage { exports }
    }

    /// The definitions with a name, in the order of the files.
    pub(crate) fn named<'a>(
        &'a self,
        images: &'a [Image],
        name: &'a str,
    ) -> impl Iterator<Item = (Definition, Option<&'a str>, bool)> + 'a {
        let wanted = hash(name);
        let first = self.exports.partition_point(|(hash, ..)| *hash < wanted);
        let same = self.exports.get(first..).unwrap_or_default();
        let same = same.iter().take_while(move |(hash, ..)| *hash == wanted);
        same.filter_map(move |(_, number, index)| {
            let image = images.get(*number as usize)?;
            let symbol = image.exports.all.get(*index as usize)?;
            if image.exports.name(&image.layout, symbol.name) != Some(name) {
                return None;
            }
            let version =
                symbol.version.and_then(|version| image.exports.name(&image.layout, version));
            let definition =
                Definition { image: *number as usize, address: symbol.address, kind: symbol.kind };
            Some((definition, version, symbol.is_hidden))
        })
    }

    /// What a symbol of a file is bound to. `after` excludes a file, whose copy of an object it is.
    pub(crate) fn resolve(
        &self,
        images: &[Image],
        from: usize,
        symbol: u32,
        except: Option<usize>,
    ) -> Option<Definition> {
        let image = images.get(from)?;
        let entry = image.exports.all.get(symbol as usize)?;
        if entry.is_local {
            let is_usable = entry.is_defined && except != Some(from);
            return is_usable.then_some(Definition {
                image: from,
                address: entry.address,
                kind: entry.kind,
            });
        }
        let name = image.exports.name(&image.layout, entry.name).filter(|name| !name.is_empty())?;
        let wanted = entry.version.and_then(|version| image.exports.name(&image.layout, version));
        let mut fallback = None;
        for (definition, version, is_hidden) in self.named(images, name) {
            if except == Some(definition.image) {
                continue;
            }
            let matches = match (wanted, version) {
                (Some(wanted), Some(version)) => wanted == version,
                // A file without versions satisfies all requests; a request without one gets the default.
                (Some(_), None) => true,
                (None, _) => !is_hidden,
            };
            if matches {
                return Some(definition);
            }
            fallback.get_or_insert(definition);
        }
        fallback
    }
}
