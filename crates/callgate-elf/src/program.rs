//! The files of a program, and its functions by their numbers.

use crate::code::{Function, Scan};
use crate::image::Image;

/// A function of a file of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId {
    /// The number of the file.
    pub(crate) image: u32,
    /// The number of the function in the file.
    pub(crate) function: u32,
}

impl FunctionId {
    pub(crate) fn new(image: usize, function: usize) -> FunctionId {
        FunctionId { image: image as u32, function: function as u32 }
    }

    /// Another function of the same file.
    pub(crate) fn beside(self, function: u32) -> FunctionId {
        FunctionId { function, ..self }
    }
}

/// The files of a program with their code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) images: &'a [Image],
    pub(crate) scans: &'a [Scan],
}

impl<'a> Program<'a> {
    /// All files.
    pub(crate) fn files(self) -> impl Iterator<Item = (&'a Image, &'a Scan)> {
        self.images.iter().zip(self.scans)
    }

    pub(crate) fn file(self, number: usize) -> Option<(&'a Image, &'a Scan)> {
        self.images.get(number).zip(self.scans.get(number))
    }

    /// A function with its file.
    pub(crate) fn function(self, id: FunctionId) -> Option<(&'a Image, &'a Scan, &'a Function)> {
        let (image, scan) = self.file(id.image as usize)?;
        Some((image, scan, scan.functions.get(id.function as usize)?))
    }

    /// The function of a file with an address.
    pub(crate) fn function_at(self, image: usize, address: u64) -> Option<FunctionId> {
        let function = self.scans.get(image)?.function_at(address)?;
        Some(FunctionId::new(image, function))
    }
}
