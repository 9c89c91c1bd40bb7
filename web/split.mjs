// Splits a WebAssembly module in two, so that a page can answer with the first part while the second one arrives.
//
// Both parts have all functions of the module at their numbers, so that no instruction changes. A function is whole in one part, and
// in the other one it calls the function there through a slot of the table. Until the second part has filled its slots, such a call
// traps: the page then asks again, with both parts and a new instance. Which functions the first part needs is measured:
// `counting` makes a module that notes which functions run.
//
// The parts of two modules must never be linked, for example where a server has a new version while a page loads: so the table, which
// both parts share, is named after the module.
//
// Format: https://webassembly.github.io/spec/core/binary/. What the linker of Rust does not write is refused.

import { createHash } from "node:crypto";

const [TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, ELEMENT, CODE] = [1, 2, 3, 4, 5, 6, 7, 9, 10];
const [I32_CONST, END, LOCAL_GET, GLOBAL_SET, CALL_INDIRECT, UNREACHABLE] = [0x41, 0x0b, 0x20, 0x24, 0x11, 0x00];
const [FUNCTION_TYPE, FUNCTION_REFERENCE, I32, F64, MUTABLE] = [0x60, 0x70, 0x7f, 0x7c, 1];

/** The name of the instance of the first part among the imports of the second one. */
const FIRST = "first";

function refuse(what) {
  throw new Error(`the module cannot be split: ${what}`);
}

/** An unsigned number in LEB128. */
function unsigned(number) {
  const bytes = [];
  for (; number > 0x7f; number = Math.floor(number / 0x80)) bytes.push((number % 0x80) | 0x80);
  return [...bytes, number];
}

/** A signed number in LEB128. */
function signed(number) {
  const bytes = [];
  for (; number > 0x3f || number < -0x40; number >>= 7) bytes.push((number & 0x7f) | 0x80);
  return [...bytes, number & 0x7f];
}

const text = (name) => [...unsigned(name.length), ...Buffer.from(name)];
const list = (items) => Buffer.concat([Buffer.from(unsigned(items.length)), ...items.map((item) => Buffer.from(item))]);
const sized = (content) => Buffer.concat([Buffer.from(unsigned(content.length)), Buffer.from(content)]);

class Reader {
  constructor(bytes) {
    [this.bytes, this.at] = [bytes, 0];
  }

  get isAtEnd() {
    return this.at >= this.bytes.length;
  }

  byte() {
    return this.bytes[this.at++];
  }

  number() {
    let [number, factor] = [0, 1];
    for (;;) {
      const byte = this.byte();
      number += (byte & 0x7f) * factor;
      if (byte < 0x80) return number;
      factor *= 0x80;
    }
  }

  take(length) {
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** What `read` reads as often as the number says that begins here. */
  list(read) {
    return Array.from({ length: this.number() }, () => read(this));
  }

  limits() {
    const flag = this.byte();
    if (flag > 1) refuse(`limits of the kind ${flag}`);
    return { min: this.number(), max: flag === 1 ? this.number() : undefined };
  }
}

const limits = ({ min, max }) => (max === undefined ? [0, ...unsigned(min)] : [1, ...unsigned(min), ...unsigned(max)]);

/** The parts of a module that change, and all its sections. */
function parse(bytes) {
  const reader = new Reader(bytes);
  const sections = [];
  for (reader.take(8); !reader.isAtEnd; ) {
    const id = reader.byte();
    const content = reader.take(reader.number());
    // Names and producers.
    if (id !== 0) sections.push({ id, content });
  }
  const of = (id, read) => {
    const found = sections.find((section) => section.id === id);
    return found ? new Reader(found.content).list(read) : [];
  };
  if (of(IMPORT, () => 0).length > 0) refuse("it has imports");
  const types = of(TYPE, (own) => {
    if (own.byte() !== FUNCTION_TYPE) refuse("a type is not that of a function");
    return { params: own.list(() => own.byte()), results: own.list(() => own.byte()) };
  });
  const tables = of(TABLE, (own) => (own.byte() === FUNCTION_REFERENCE ? own.limits() : refuse("a table has no functions")));
  const memories = of(MEMORY, (own) => own.limits());
  if (tables.length !== 1 || memories.length !== 1) refuse("it has not one table and one memory");
  const globals = of(GLOBAL, (own) => {
    const type = [own.byte(), own.byte()];
    if (own.byte() !== I32_CONST) refuse("a global value is not a number");
    own.number();
    return own.byte() === END ? type : refuse("a global value is computed");
  });
  const bodies = of(CODE, (own) => own.take(own.number()));
  return { sections, types, table: tables[0], memory: memories[0], globals, functions: of(FUNCTION, (own) => own.number()), bodies };
}

/** A module with these contents in place of its own sections; null leaves a section out. */
function assemble(sections, changed) {
  const parts = [Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])];
  const all = [...sections];
  // An import is the only section that is new.
  if (changed[IMPORT]) all.splice(all.findIndex(({ id }) => id > TYPE), 0, { id: IMPORT });
  for (const { id, content } of all) {
    const own = changed[id] === undefined ? content : changed[id];
    if (own !== null) parts.push(Buffer.from([id]), sized(own));
  }
  return Buffer.concat(parts);
}

/** Adds items to a list in a section. */
function longer(sections, id, items) {
  const found = sections.find((section) => section.id === id) ?? refuse(`it has no section ${id}`);
  const reader = new Reader(found.content);
  const count = reader.number() + items.length;
  return Buffer.concat([Buffer.from(unsigned(count)), found.content.subarray(reader.at), ...items.map((item) => Buffer.from(item))]);
}

/** A module that does the same, and sets its exported global value `ranN` to 1 when function N runs. */
export function counting(bytes) {
  const { sections, globals, bodies } = parse(bytes);
  const counted = bodies.map((body, number) => {
    const reader = new Reader(body);
    reader.list(() => [reader.number(), reader.byte()]);
    const note = [I32_CONST, 1, GLOBAL_SET, ...unsigned(globals.length + number)];
    return sized(Buffer.concat([body.subarray(0, reader.at), Buffer.from(note), body.subarray(reader.at)]));
  });
  const own = bodies.map(() => [I32, MUTABLE, I32_CONST, 0, END]);
  const exported = bodies.map((_, number) => [...text(`ran${number}`), 3, ...unsigned(globals.length + number)]);
  const changed = { [GLOBAL]: longer(sections, GLOBAL, own), [EXPORT]: longer(sections, EXPORT, exported), [CODE]: list(counted) };
  return { bytes: assemble(sections, changed), count: bodies.length };
}

/** The two parts: the first one has the functions for which `chooses` is true of their number and size. */
export function split(bytes, chooses) {
  const { sections, types, table, memory, globals, functions, bodies } = parse(bytes);
  // A type that no function of the module has, for what no call can find.
  const unused = { params: Array(16).fill(F64), results: [] };
  if (types.some(({ params }) => String(params) === String(unused.params))) refuse("its types are unusual");
  // The slots behind those of the module: of the functions of the second part, and of the first one.
  const numbers = bodies.map((_, number) => number);
  const isFirst = (number) => chooses(number, bodies[number].length);
  const [first, second] = [numbers.filter(isFirst), numbers.filter((number) => !isFirst(number))];
  const slots = new Map([...second, ...first].map((number, at) => [number, table.min + at]));
  const all = table.min + numbers.length;
  const grown = { min: all, max: table.max === undefined ? undefined : Math.max(all, table.max + numbers.length) };
  const elsewhere = (number) => {
    const { params } = types[functions[number]];
    const given = params.flatMap((_, at) => [LOCAL_GET, ...unsigned(at)]);
    return sized([0, ...given, I32_CONST, ...signed(slots.get(number)), CALL_INDIRECT, ...unsigned(functions[number]), 0, END]);
  };
  const segment = (start, members) => [0, I32_CONST, ...signed(start), END, ...list(members.map(unsigned))];
  const typed = longer(sections, TYPE, [[FUNCTION_TYPE, ...list(unused.params.map((type) => [type])), 0]]);
  const tableType = [FUNCTION_REFERENCE, ...limits(grown)];
  const nothing = numbers.length;
  const shared = `table of ${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}`;
  const exported = globals.map((_, at) => [...text(`global${at}`), 3, ...unsigned(at)]);
  const imported = globals.map((type, at) => [...text(FIRST), ...text(`global${at}`), 3, ...type]);
  const whole = (number) => sized(bodies[number]);
  return {
    first: assemble(sections, {
      [TYPE]: typed,
      [FUNCTION]: longer(sections, FUNCTION, [unsigned(types.length)]),
      [TABLE]: list([tableType]),
      [EXPORT]: longer(sections, EXPORT, [[...text(shared), 1, 0], ...exported]),
      [ELEMENT]: longer(sections, ELEMENT, [
        segment(table.min, second.map(() => nothing)),
        segment(table.min + second.length, first),
      ]),
      [CODE]: list([...numbers.map((number) => (isFirst(number) ? whole(number) : elsewhere(number))), sized([0, UNREACHABLE, END])]),
    }),
    second: assemble(
      sections.filter(({ id }) => [TYPE, FUNCTION, ELEMENT, CODE].includes(id)),
      {
        [IMPORT]: list([
          [...text(FIRST), ...text("memory"), 2, ...limits(memory)],
          [...text(FIRST), ...text(shared), 1, ...tableType],
          ...imported,
        ]),
        [ELEMENT]: list([segment(table.min, second)]),
        [CODE]: list(numbers.map((number) => (isFirst(number) ? elsewhere(number) : whole(number)))),
      },
    ),
  };
}
