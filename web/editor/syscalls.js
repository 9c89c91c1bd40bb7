// What the editor knows about syscalls and constants: their names for completion, and what each is for.

import { hoverTooltip } from "@codemirror/view";

/** From names to `{ nr, args, purpose, danger }`. */
let known = new Map();

/** Takes what the core says about all syscalls. */
export function setSyscalls(list) {
  known = new Map(list.map(({ name, ...facts }) => [name, facts]));
}

/** From names to `{ value, use, page }`. */
let constants = new Map();

/** Takes what the core says about constants. */
export function setConstants(list) {
  constants = new Map(list.map(({ name, ...facts }) => [name, facts]));
}

export const isSyscall = (word) => known.has(word);

const NAME = /[A-Za-z_]\w*/g;

/** The syscall or constant at a place of a text, with its start and end. */
function at(state, position) {
  const { from, text } = state.doc.lineAt(position);
  // Other words in lines of this length are not names either.
  if (text.length > 20_000) return null;
  for (const { 0: name, index } of text.matchAll(NAME)) {
    const [start, end] = [from + index, from + index + name.length];
    if (start <= position && position <= end) return known.has(name) || constants.has(name) ? { name, start, end } : null;
    if (start > position) return null;
  }
  return null;
}

/** What a syscall or constant is for, as an element. */
function described(name) {
  const box = document.createElement("div");
  box.className = "about-syscall";
  const line = (style, text) => {
    const element = document.createElement("div");
    element.className = style;
    element.textContent = text;
    box.append(element);
  };
  if (!known.has(name)) {
    const { value, use, page } = constants.get(name);
    line("signature", `${name} = ${value}`);
    line("purpose", use);
    line("more", `${/x/.test(value) ? "The value is that on x86-64. " : ""}Manual page: ${page}`);
    return box;
  }
  const { nr, args, purpose, danger } = known.get(name);
  line("signature", `${name}(${args.join(", ")})`);
  if (purpose) line("purpose", purpose);
  if (danger) line("danger", `Dangerous: ${danger}.`);
  line("more", `Number ${nr} on x86-64. Manual page: man 2 ${name}`);
  return box;
}

export const hover = hoverTooltip((view, position) => {
  const found = at(view.state, position);
  if (found === null) return null;
  return { pos: found.start, end: found.end, above: true, create: () => ({ dom: described(found.name) }) };
});

/** Completes names of syscalls, and of constants after three letters. */
export function complete(context) {
  const upper = context.matchBefore(/\b[A-Z][A-Z0-9_]*/);
  if (upper !== null && (context.explicit || upper.text.length > 2)) {
    const options = [...constants].map(([label, { value, use }]) => ({ label, detail: `= ${value}`, type: "constant", info: use }));
    return { from: upper.from, options, validFor: /^\w*$/ };
  }
  const word = context.matchBefore(/[a-z_][\w]*/);
  if (word === null || (!context.explicit && word.text.length < 2)) return null;
  const options = [...known].map(([label, { args, purpose, danger }]) => ({
    label,
    detail: `(${args.join(", ")})`,
    type: danger ? "danger" : "syscall",
    info: purpose ?? undefined,
  }));
  return { from: word.from, options, validFor: /^\w*$/ };
}
