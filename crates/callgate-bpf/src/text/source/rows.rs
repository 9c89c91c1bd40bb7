//! Finds the arrays of instructions in source code, and reads their elements.

use super::changed::{FIELDS, declaration_before, is_type};
use super::chosen::Program;
use super::field::{Context as FieldContext, Fields};
use super::go;
use super::language::{C_TYPES, is_branch};
use super::pairs::Pairs;
use super::part::size_before;
use super::place::{Index, Place, Places, next_place, place_before, places};
use super::shape::{
    builder, field_index, macro_call, starts_other_struct, starts_row, type_of_element,
};
use crate::asm::{AsmError, Errors};
use crate::cursor::{Cursor, Result};
use crate::diagnostic::{Diagnostic, Position, error};
use crate::lexer::Language;
use crate::token::{Token, TokenKind, quote};
use callgate_core::{MAX_READ_INSNS, RawInsn};

/// The instructions of a text, and warnings about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Rows {
    pub(in super::super) insns: Vec<RawInsn>,
    pub(in super::super) warnings: Vec<Diagnostic>,
    /// Whether this is the source of a program, not a dump: a declared array, or values with names.
    pub(in super::super) is_source: bool,
}

/// What a brace or a bracket encloses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Elements, all of which are instructions.
    Array,
    /// Anything else.
    Code,
}

/// An array, or the code outside arrays.
#[derive(Default)]
struct Part<'t, 'a> {
    errors: Errors,
    rows: usize,
    /// The index of the mark that begins it; `None` outside arrays.
    begin: Option<usize>,
    /// Whether its type is known to be that of instructions.
    is_declared: bool,
    /// The tokens of its size, and their position.
    size: Option<(&'t [Token<'a>], Position)>,
    /// The index of the program that its rows are.
    program: Option<usize>,
}

/// Finds the rows among the tokens of a text.
pub(super) struct Reader<'n, 't, 'a> {
    pairs: &'t Pairs<'t, 'a>,
    cursor: Cursor<'t, 'a>,
    /// What is open, with the marks that close it.
    contexts: Vec<(Context, char)>,
    /// How many of them are arrays.
    arrays: usize,
    fields: Fields<'n, 't, 'a>,
    language: Language,
    /// The arrays with instructions, and the rows outside arrays.
    programs: Vec<Program<'t, 'a>>,
    /// The index of the program outside arrays.
    outside: Option<usize>,
    /// A branch of the code after the first row outside arrays.
    branch: Option<Position>,
    /// What the rows outside arrays are assigned to.
    places: Vec<Place<'t, 'a>>,
    /// The array that is being read, or else the code outside arrays.
    part: Part<'t, 'a>,
    /// Errors that are not about one of the programs.
    pub(super) errors: Errors,
    /// Errors in arrays without instructions, which are probably something else.
    pub(super) ignored: Errors,
}

impl<'n, 't, 'a> Reader<'n, 't, 'a> {
    /// For tokens without directives; `end` is the position after the text.
    pub(super) fn new(
        pairs: &'t Pairs<'t, 'a>,
        end: Position,
        context: FieldContext<'n, 'a>,
    ) -> Self {
        Reader {
            pairs,
            cursor: Cursor::new(pairs.tokens(), end),
            contexts: Vec::new(),
            arrays: 0,
            language: context.literals.language,
            fields: Fields::new(context, pairs),
            programs: Vec::new(),
            outside: None,
            branch: None,
            places: Vec::new(),
            part: Part::default(),
            errors: Errors::default(),
            ignored: Errors::default(),
        }
    }

    /// What the rows outside arrays are assigned to.
    pub(super) fn places(&self) -> Result<Option<Places<'a>>> {
        places(self.pairs.tokens(), &self.places)
    }

    /// Reads to the end. Every iteration consumes a token.
    pub(super) fn read(&mut self) {
        while self.cursor.peek().is_some() {
            if let Err(error) = self.step() {
                // A name without a value, which each macro repeats, is reported once.
                self.part.errors.push_new(error);
            }
        }
        self.end_part();
        // The code around an array may be a part of a file. After an error, an unclosed brace is a consequence of it.
        let has_errors = self.programs.iter().any(|program| !program.errors.is_empty());
        if self.is_inside_array() && !has_errors && self.ignored.is_empty() {
            let missing = self.cursor.fail::<()>("`}`");
            self.errors.extend(missing.err());
        }
    }

    /// The programs of the text.
    pub(super) fn take_programs(&mut self) -> Vec<Program<'t, 'a>> {
        std::mem::take(&mut self.programs)
    }

    /// The rows of a program.
    pub(super) fn finish(mut self, program: Program<'t, 'a>) -> Result<Rows, AsmError> {
        let Program { insns, errors, warnings, is_declared, .. } = program;
        self.errors.append(errors);
        let is_source = is_declared || self.fields.has_names;
        self.errors.check().map(|()| Rows { insns, warnings, is_source })
    }

    /// An error that says what a text without programs is.
    pub(super) fn nothing(mut self, text: &[Token<'_>]) -> AsmError {
        if let Some(error) = builder(text) {
            return error.into();
        }
        self.errors.append(self.ignored);
        let none = || {
            Diagnostic::error(None, NOTHING).help(
                "rows look like `{ 0x06, 0, 0, 0x7fff0000 },` or `BPF_STMT(BPF_RET | BPF_K, 0),`",
            )
        };
        self.errors.check().err().unwrap_or_else(|| none().into())
    }

    fn in_array(&self) -> bool {
        self.contexts.last().is_some_and(|(context, _)| *context == Context::Array)
    }

    fn is_inside_array(&self) -> bool {
        self.arrays > 0
    }

    /// Whether a word decides which of the rows outside arrays are added.
    fn is_branch(&self, word: &str) -> bool {
        self.outside.is_some() && self.language == Language::C && is_branch(word)
    }

    /// Whether this mark closes what was opened last.
    fn is_inside(&self, close: char) -> bool {
        self.contexts.last().is_some_and(|(_, mark)| *mark == close)
    }

    fn step(&mut self) -> Result<()> {
        let Some(token) = self.cursor.peek() else { return Ok(()) };
        let at = self.pairs.tokens().len() - self.cursor.rest().len();
        let before = self.before(at, 1);
        if let Some(is_jump) = macro_call(self.cursor.rest()) {
            if before.is_some_and(|before| matches!(before.text, "fn" | "func")) {
                return self.skip_function();
            }
            let start = self.cursor;
            self.cursor.next();
            self.cursor.take("!");
            let row = self.macro_arguments(is_jump);
            return self.row(token.position, row, start, ['(', ')']);
        }
        self.cursor.next();
        // A function of this name, which `(BPF_STMT)(…)` calls.
        if matches!(token.text, "BPF_STMT" | "BPF_JUMP") && self.language == Language::C {
            let message = format!("{} is not called here as the kernel's macro", quote(token.text));
            return Err(error(token.position, message).help("write it with its arguments"));
        }
        match token.kind {
            TokenKind::Mark('{') => self.open(at, token),
            TokenKind::Mark('[') if self.opens_array(at) => {
                self.enter(Context::Array, ']', at);
                Ok(())
            }
            TokenKind::Mark('[') if self.in_array() && self.language == Language::C => {
                self.designator(token.position)
            }
            TokenKind::Mark('[') if self.is_inside(']') => {
                self.enter(Context::Code, ']', at);
                Ok(())
            }
            TokenKind::Mark(']') if !self.is_inside(']') => Ok(()),
            TokenKind::Mark('}' | ']') => self.close(token),
            _ if self.in_array() => self.element(at, token),
            TokenKind::Word if self.is_branch(token.text) => {
                self.branch.get_or_insert(token.position);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn before(&self, at: usize, distance: usize) -> Option<Token<'a>> {
        self.pairs.before(at, distance).copied()
    }

    /// An open brace: an instruction, an array or code.
    fn open(&mut self, at: usize, token: Token<'a>) -> Result<()> {
        let before = self.before(at, 1);
        let after_parenthesis = before.is_some_and(|before| before.is(')'));
        let is_literal = after_parenthesis && self.ends_type_of_literal(at);
        let is_block = after_parenthesis && !is_literal;
        let word = before.filter(|before| before.is_name());
        if let Some(kind) = word.and_then(|word| go::type_of(word.text)) {
            let start = self.cursor;
            let row = go::instruction(&mut self.cursor, &mut self.fields, *kind);
            return self.row(token.position, row, start, ['{', '}']);
        }
        let in_code = self.contexts.last().is_some_and(|(context, _)| *context == Context::Code);
        let may_be_row = !is_block && (!in_code || word.is_some() || is_literal);
        // In an array of instructions, everything but a nested array is one.
        let is_element = self.in_array()
            && self.part.is_declared
            && before.is_some_and(|before| before.is_any("{,"))
            && !self.cursor.starts("{");
        if may_be_row && (starts_row(self.cursor.rest()) || is_element) {
            let start = self.cursor;
            let row = self.literal();
            return self.row(token.position, row, start, ['{', '}']);
        }
        let is_value = before.is_none_or(|before| before.is_any("=,{[}"));
        let is_typed = word.as_ref().is_some_and(is_type)
            && !self.before(at, 2).is_some_and(|before| before.is_word("struct"));
        let is_array = !is_block
            && !starts_other_struct(self.cursor.rest())
            && (is_literal
                || is_typed
                || (is_value && (!in_code || before.is_some_and(|b| b.is('=')))));
        self.enter(if is_array { Context::Array } else { Context::Code }, '}', at);
        Ok(())
    }

    /// Whether the parenthesis before a brace closes the type of an array: `(struct sock_filter[2])`, but not the parameters of
    /// a function, `(struct sock_filter f[2])`.
    fn ends_type_of_literal(&self, at: usize) -> bool {
        let Some(last) = self.before(at, 2) else { return false };
        if !last.is(']') {
            return last.is_word("sock_filter");
        }
        let open = at.checked_sub(2).and_then(|close| self.pairs.partner(close));
        let before = open.map_or(&[][..], |open| self.pairs.slice(0, open));
        !matches!(before, [.., kind, name] if name.is_name()
            && (is_type(kind) || kind.is('*') || C_TYPES.contains(&kind.text)))
    }

    /// Whether a bracket begins an array of Rust, and not an index or a type.
    fn opens_array(&self, at: usize) -> bool {
        let is_after = |distance, mark| self.pairs.is_before(at, distance, mark);
        let is_value = is_after(1, '=')
            || (is_after(1, '!') && !is_after(2, '#'))
            || (is_after(1, '&') && is_after(2, '='));
        is_value && !self.cursor.starts("]")
    }

    fn enter(&mut self, context: Context, close: char, at: usize) {
        let is_outermost = !self.is_inside_array();
        if context == Context::Array && is_outermost {
            self.end_part();
            self.part.begin = Some(at);
            self.part.is_declared = declaration_before(self.pairs.tokens(), at).iter().any(is_type);
            // Arrays of Rust have as many elements as their types say.
            let size = (self.language != Language::Rust).then(|| size_before(self.pairs, at));
            self.part.size = size.flatten();
        }
        if let Some(parameters) = &mut self.fields.parameters {
            parameters.blocks.push(at);
        }
        self.arrays += usize::from(context == Context::Array);
        self.contexts.push((context, close));
    }

    fn close(&mut self, token: Token<'a>) -> Result<()> {
        let was_inside_array = self.is_inside_array();
        // A brace also closes brackets that are still open.
        while let Some((context, close)) = self.contexts.pop() {
            self.arrays -= usize::from(context == Context::Array);
            if let Some(parameters) = &mut self.fields.parameters {
                parameters.blocks.pop();
            }
            if token.is(close) {
                if was_inside_array && !self.is_inside_array() {
                    self.end_part();
                }
                return Ok(());
            }
        }
        Err(error(token.position, "`}` without a `{` before it"))
    }

    /// Ends an array, or the code before one.
    fn end_part(&mut self) {
        let mut part = std::mem::take(&mut self.part);
        if let Some((size, position)) =
            part.size.filter(|_| part.rows > 0 && part.errors.is_empty())
        {
            part.errors.extend(self.check_size(size, position, part.rows).err());
        }
        let warnings = std::mem::take(&mut self.fields.warnings);
        let index = match (part.program, part.begin) {
            (None, Some(begin)) if part.is_declared && !part.errors.is_empty() => {
                let position = self.pairs.get(begin).map_or(Position::START, |t| t.position);
                Some(self.add_program(Some(begin), position))
            }
            (index, _) => index,
        };
        match index.and_then(|index| self.programs.get_mut(index)) {
            Some(program) => {
                program.is_declared |= part.is_declared;
                program.errors.append(part.errors);
                program.warnings.extend(warnings);
            }
            None => self.ignored.append(part.errors),
        }
    }

    /// Enters a program, and returns its index.
    fn add_program(&mut self, begin: Option<usize>, position: Position) -> usize {
        let tokens = self.pairs.tokens();
        self.programs.push(Program {
            insns: Vec::new(),
            position,
            declaration: begin.map_or(&[], |begin| declaration_before(tokens, begin)),
            begin,
            is_declared: false,
            errors: Errors::default(),
            warnings: Vec::new(),
        });
        self.programs.len() - 1
    }

    /// The instructions of the program outside arrays.
    fn rows_outside(&self) -> usize {
        let program = self.outside.and_then(|index| self.programs.get(index));
        program.map_or(0, |program| program.insns.len())
    }

    /// Reads `[N] =` before an element, which must be the next one. The others would be 0, or be replaced.
    fn designator(&mut self, position: Position) -> Result<()> {
        let given = self.fields.exact(&mut self.cursor)?.number;
        self.cursor.expect("]")?;
        self.cursor.expect("=")?;
        if usize::try_from(given) == Ok(self.part.rows) {
            return Ok(());
        }
        let message = format!("this is element {given}, but {} are before it", self.part.rows);
        Err(error(position, message).help("write the elements in their order, each once"))
    }

    /// Checks that a row that is assigned to an element, `f[2] = …`, is the next one in the text, too.
    fn check_place(&mut self, start: Cursor<'_, 'a>, [open, _]: [char; 2]) -> Result<()> {
        let at = self.pairs.tokens().len() - start.rest().len() - usize::from(open == '{');
        if self.language != Language::C {
            return Ok(());
        }
        let rows = self.rows_outside();
        let place = place_before(self.pairs.tokens(), at)?;
        let Some(place) = next_place(&self.places, place, rows, start.position())? else {
            return Ok(());
        };
        self.places.push(place);
        let Index::Number(index) = place.index else { return Ok(()) };
        if self.fields.whole(index).is_some_and(|given| usize::try_from(given.number) == Ok(rows)) {
            return Ok(());
        }
        let message = format!("this is not element {rows}, the next one after those before it");
        Err(error(place.position, message).help("write the elements in their order, each once"))
    }

    /// Checks that an array has as many rows as elements: the others would be 0.
    fn check_size(&mut self, size: &'t [Token<'a>], position: Position, rows: usize) -> Result<()> {
        let mut cursor = Cursor::new(size, position);
        let given = self.fields.exact(&mut cursor)?.number;
        if cursor.peek().is_some() {
            return cursor.fail("the end of the size");
        }
        if usize::try_from(given) == Ok(rows) {
            return Ok(());
        }
        let message = format!("this array has {given} elements, but {rows} instructions");
        Err(error(position, message).help("the others are 0; delete the size, or add them"))
    }

    /// Adds a row; after an error, the row from `start` on is skipped up to its closing mark.
    fn row(
        &mut self,
        position: Position,
        row: Result<RawInsn>,
        start: Cursor<'_, 'a>,
        marks: [char; 2],
    ) -> Result<()> {
        let insn = match row {
            Ok(insn) => insn,
            Err(error) => {
                self.skip_row(start, marks);
                return Err(error);
            }
        };
        let is_outside = !self.is_inside_array();
        if let (true, Err(error)) = (is_outside, self.check_place(start, marks)) {
            self.part.errors.push(error);
        }
        if let (true, Some(branch)) = (is_outside, self.branch) {
            let error = error(
                branch,
                "which instructions are added depends on a branch of the program here",
            );
            let help = "give the complete array, or read the running process (pid:N)";
            self.part.errors.push_new(error.help(help));
        }
        self.part.rows += 1;
        let known = if is_outside { self.outside } else { self.part.program };
        let index = known.unwrap_or_else(|| self.add_program(self.part.begin, position));
        self.part.program = Some(index);
        if is_outside {
            self.outside = Some(index);
        }
        // One more is enough for the error about the length.
        if let Some(program) = self.programs.get_mut(index) {
            if program.insns.len() <= MAX_READ_INSNS {
                program.insns.push(insn);
            }
        }
        Ok(())
    }

    /// Skips to the end of a row, or of a call, that has an error.
    fn skip_row(&mut self, start: Cursor<'_, 'a>, [open, close]: [char; 2]) {
        let done = start.rest().len() - self.cursor.rest().len();
        let mut depth = usize::from(close == '}');
        for token in start.rest().iter().take(done) {
            depth += usize::from(token.is(open));
            depth -= usize::from(token.is(close) && depth > 0);
        }
        while let Some(token) = self.cursor.peek().filter(|_| depth > 0) {
            // A macro does not reach over the end of the array.
            if token.is(';') || (close == ')' && token.is('}')) {
                return;
            }
            depth += usize::from(token.is(open));
            depth -= usize::from(token.is(close));
            self.cursor.next();
        }
    }

    /// Skips the parameters and the body of a function.
    fn skip_function(&mut self) -> Result<()> {
        while let Some(token) = self.cursor.next() {
            if token.is('{') {
                return self.cursor.skip_to_close('{', '}');
            }
        }
        Ok(())
    }

    /// A token in an array that does not begin an instruction.
    fn element(&mut self, at: usize, token: Token<'a>) -> Result<()> {
        let before = self.before(at, 1);
        let is_first = before.is_some_and(|before| before.is_any("{,["));
        let ends = self.cursor.peek().is_some_and(|next| next.is_any(",}]"));
        let is_call = self.cursor.starts("(");
        match token.kind {
            TokenKind::Word if (is_first && ends) || is_call => {
                let name = quote(token.text);
                let message = format!("{name} is not an instruction, and not defined in this text");
                if is_call {
                    let start = self.cursor;
                    self.cursor.skip(1);
                    self.skip_row(start, ['(', ')']);
                }
                Err(error(token.position, message)
                    .help("add its definition: a line that begins with `#define`"))
            }
            TokenKind::Mark('.') if self.cursor.starts("..") => {
                self.cursor.skip(2);
                // `[...]T{` of Go.
                if before.is_some_and(|before| before.is('[')) {
                    return Ok(());
                }
                Err(error(token.position, "instructions are left out here (`...`)")
                    .help("give the complete array"))
            }
            TokenKind::Mark('#') if token.text == "#include" => {
                Err(error(token.position, "a file is included here, which is not read")
                    .help("replace the line by the text of the file"))
            }
            TokenKind::Word => Ok(()),
            TokenKind::Mark('(') if self.skip_cast() => Ok(()),
            TokenKind::Mark(',' | ';' | '.' | ':' | '&' | '[' | ']' | '*') => Ok(()),
            _ => Err(error(
                token.position,
                format!("expected an instruction, found {}", quote(token.text)),
            )),
        }
    }

    /// Skips the type of an element after its parenthesis: `(struct sock_filter) BPF_STMT(…)`.
    fn skip_cast(&mut self) -> bool {
        let length = type_of_element(self.cursor.rest());
        self.cursor.skip(length.unwrap_or(0));
        length.is_some()
    }

    /// The arguments of `BPF_STMT(code, k)` or `BPF_JUMP(code, k, jt, jf)`.
    fn macro_arguments(&mut self, is_jump: bool) -> Result<RawInsn> {
        self.cursor.expect("(")?;
        let code = self.field("code")?;
        self.cursor.expect(",")?;
        let k = self.field("k")?;
        let (mut jt, mut jf) = (0, 0);
        if is_jump {
            self.cursor.expect(",")?;
            jt = self.field("jt")?;
            self.cursor.expect(",")?;
            jf = self.field("jf")?;
        }
        self.cursor.expect(")")?;
        Ok(RawInsn { code: code as u16, jt: jt as u8, jf: jf as u8, k })
    }

    /// The fields between braces, by position or by name.
    fn literal(&mut self) -> Result<RawInsn> {
        let start = self.cursor.position();
        let place_of = |cursor: &mut Cursor<'t, 'a>| Ok(field_name(cursor));
        let (values, unnamed) =
            self.fields.list(&mut self.cursor, "an instruction", &FIELDS, place_of)?;
        if let Some(found @ 0..4) = unnamed {
            let message = format!("an instruction has {} fields, found {found}", FIELDS.len());
            return Err(error(start, message));
        }
        let [code, jt, jf, k] = values.map(Option::unwrap_or_default);
        Ok(RawInsn { code: code as u16, jt: jt as u8, jf: jf as u8, k })
    }

    fn field(&mut self, name: &str) -> Result<u32> {
        self.fields.field(&mut self.cursor, name)
    }
}

/// What a text without programs is.
const NOTHING: &str = "the text contains no instructions";

/// `.code =` in C, `code:` in Rust, `Code:` in Go.
fn field_name(cursor: &mut Cursor<'_, '_>) -> Option<usize> {
    let (name, length) = match cursor.rest() {
        [dot, name, equals, ..] if dot.is('.') && equals.is('=') => (name, 3),
        [name, colon, ..] if colon.is(':') => (name, 2),
        _ => return None,
    };
    let place = field_index(name.text)?;
    cursor.skip(length);
    Some(place)
}
