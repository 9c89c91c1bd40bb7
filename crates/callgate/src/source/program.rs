//! Reads programs: raw instructions, and texts in any form.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::text::programs;
use callgate_core::{LongProgram, ProgramError, RawInsn, SocketProgram};

use super::arches::arches_in;
use super::filter::SourceFilter;
use super::format::ProgramForm;
use super::listing::{Listing, ListingReading, from_linux3};
use super::message::Messages;
use super::read::Reader;
use super::stack::SourceStack;
use super::text::{Content, SourceText};
use super::violations::violations;
use crate::Endian;

impl Reader<'_> {
    /// A program as a seccomp filter.
    pub(super) fn program(
        &mut self,
        form: ProgramForm,
        bytes: &[u8],
        text: Option<&str>,
    ) -> Result<SourceStack, Messages> {
        if form == ProgramForm::Text
            && let Some(several) = self.several(form, bytes, text)?
        {
            return Ok(several);
        }
        self.one_program(form, bytes, text).map(SourceStack::of)
    }

    /// The programs of a text that has several, as a stack.
    fn several(
        &mut self,
        form: ProgramForm,
        bytes: &[u8],
        text: Option<&str>,
    ) -> Result<Option<SourceStack>, Messages> {
        let is_text = !matches!(self.source.content, Content::Insns(_) | Content::Bytes(_));
        let text = text.or_else(|| std::str::from_utf8(bytes).ok()).filter(|_| is_text);
        let Some(text) = text else { return Ok(None) };
        let programs = programs(text).map_err(|error| self.all([error]))?;
        if programs.texts.is_empty() {
            return Ok(None);
        }
        self.warnings.extend(self.all(programs.warnings));
        let mut filters = Vec::with_capacity(programs.texts.len());
        for program in &programs.texts {
            filters.push(self.one_program(form, &[], Some(program))?);
        }
        let name = self.source.name.clone();
        Ok(Some(SourceStack { name, ..SourceStack::of_filters(filters) }))
    }

    fn one_program(
        &mut self,
        form: ProgramForm,
        bytes: &[u8],
        text: Option<&str>,
    ) -> Result<SourceFilter, Messages> {
        let SourceText { reading, keeps_warnings, .. } = self.source;
        let (program, endian, own) = self.accepted::<LongProgram>(form, bytes, text)?;
        let mut arches = reading.arches.clone();
        if arches.is_empty() {
            arches = arches_in(&program, endian);
        }
        if arches.is_empty() {
            arches = vec![reading.machine];
        }
        let filter = SourceFilter::of_program(self.source.name.clone(), program, endian, arches);
        let mut filter = self.of_caller(filter);
        match keeps_warnings {
            true => filter.warnings = own,
            false => self.warnings.extend(self.all(own)),
        }
        Ok(filter)
    }

    /// A program that the kernel accepts, with its byte order and warnings.
    pub(super) fn accepted<P: Accepted>(
        &self,
        form: ProgramForm,
        bytes: &[u8],
        text: Option<&str>,
    ) -> Result<(P, Endian, Vec<Diagnostic>), Messages> {
        let SourceText { content, reading, wording, part, .. } = self.source;
        let refused = |error: ProgramError| self.all(violations(&error, wording.socket_filters));
        let given = reading.of_program().map_err(|error| self.all([error]))?;
        let raw = |bytes: &[u8]| {
            let translated = |error| {
                let read = from_linux3(bytes, given)
                    .and_then(|(insns, warning)| Some((P::from_raw(&insns).ok()?, vec![warning])));
                read.ok_or_else(|| refused(error))
            };
            let read = P::from_bytes(bytes, given).map(|program| (program, Vec::new()));
            let (program, own) = read.or_else(translated)?;
            Ok((program, given, own))
        };
        match (content, form, text) {
            (Content::Insns(insns), ..) => {
                Ok((P::from_raw(insns).map_err(refused)?, given, Vec::new()))
            }
            (Content::Bytes(bytes), ..) => raw(bytes),
            (_, ProgramForm::Raw, None) => raw(bytes),
            (_, ProgramForm::Raw, Some(_)) => Err(self.error(
                "raw instructions are not text",
                format!("{}, or give the `format` of the text", wording.give_raw),
            )),
            (_, ProgramForm::Text, text) => {
                let text = match text {
                    Some(text) => text,
                    None => self.text(bytes, wording.give_raw)?,
                };
                let listing = ListingReading {
                    endian: given,
                    is_fixed: reading.fixes_endian(),
                    arches: reading.arches.clone(),
                    advice: wording.byte_order,
                    one_arch: wording.one_arch,
                    machine: Some(reading.machine),
                    definitions: reading.definitions.clone(),
                    strict: reading.strict,
                    part: part.clone(),
                };
                let read = listing.read(text);
                let Listing { insns, endian, warnings } =
                    read.map_err(|errors| self.all(errors))?;
                Ok((P::from_raw(&insns).map_err(refused)?, endian, warnings))
            }
        }
    }
}

/// A program that the kernel accepts: a seccomp or a socket filter.
pub(super) trait Accepted: Sized {
    fn from_bytes(bytes: &[u8], endian: Endian) -> Result<Self, ProgramError>;
    fn from_raw(raw: &[RawInsn]) -> Result<Self, ProgramError>;
}

macro_rules! accepted {
    ($($program:ty)*) => {
        $(impl Accepted for $program {
            fn from_bytes(bytes: &[u8], endian: Endian) -> Result<Self, ProgramError> {
                <$program>::from_bytes(bytes, endian)
            }
            fn from_raw(raw: &[RawInsn]) -> Result<Self, ProgramError> {
                <$program>::from_raw(raw)
            }
        })*
    };
}

accepted!(LongProgram SocketProgram);
