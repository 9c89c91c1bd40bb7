// What belongs together is lit: a syscall in the map, its rule in the text, and its instructions in the listing.

/** Which syscalls may execute which instructions, and which places of the text are about which syscalls, of the last answer. */
let paths = [];
let rules = [];
/** The lines of instructions, of a program as text. */
let lines = [];
let body = null;

/** The syscall that was chosen last, in this text. */
let chosen = null;
let text = null;

/** The number of names that are listed. */
const LISTED = 12;

const key = (arch, nr) => `${arch} ${nr}`;
const rowsOf = () => [...(body?.querySelectorAll("#program .listing .line") ?? [])];
const grouped = (number) => number.toLocaleString("en");

/** Takes what an answer about a text says. */
export function connectLights(own, answer, ofText) {
  [body, paths, rules, lines] = [own, answer.paths ?? [], answer.rules ?? [], answer.lines ?? []];
  if (text !== ofText) chosen = null;
  text = ofText;
  connectListing();
  if (chosen !== null) lightSyscall(...chosen);
}

/** Lights these squares and rows, and says what they are. */
function light(squares, rows, about) {
  for (const square of body.querySelectorAll("#map g.sq")) square.classList.toggle("lit", squares.has(square.dataset.key));
  rowsOf().forEach((row, index) => row.classList.toggle("lit", rows.has(index)));
  for (const section of body.querySelectorAll("#map, #program")) note(section, about);
}

/** A line below the heading of a section. */
function note(section, about) {
  let line = section.querySelector(".lit-note");
  if (line === null) {
    line = document.createElement("p");
    line.className = "lit-note";
    section.querySelector("h2").after(line);
  }
  line.textContent = about;
  line.hidden = about === "";
}

/** Lights a syscall: its square and its instructions, whose listing is opened. */
export function lightSyscall(arch, nr) {
  const path = paths.find((own) => own.arch === arch && own.nrs.includes(nr));
  if (path === undefined) return;
  chosen = [arch, nr];
  const listing = body.querySelector("#program .listing");
  if (listing) listing.open = true;
  const name = path.names[path.nrs.indexOf(nr)];
  const all = grouped(rowsOf().length);
  light(new Set([key(arch, nr)]), new Set(path.insns), `${name} on ${arch} executes up to ${grouped(path.insns.length)} of ${all} instructions, which are marked in the listing.`);
}

/** Where the text first says something about a syscall: a line and a column; undefined if it does not. */
export function firstRule(arch, nr) {
  const rule = rules.find(([, , own, ...nrs]) => own === arch && nrs.includes(nr));
  return rule && { line: rule[0], column: rule[1] };
}

/** Lights the syscalls that the text is about at a place: of an instruction, or of the last rule that begins before the caret in its line. */
export function lightPlace(line, column) {
  if (body === null) return;
  if (lines.length > 0) return lines.includes(line) ? lightInstruction(lines.indexOf(line)) : light(new Set(), new Set(), "");
  if (rules.length === 0) return;
  const before = rules.filter(([own, start]) => own === line && start <= column);
  const start = Math.max(...before.map(([, start]) => start));
  const here = before.filter(([, own]) => own === start);
  if (here.length === 0) return light(new Set(), new Set(), "");
  // The map led here.
  if (chosen !== null && here.some(([, , arch, ...nrs]) => arch === chosen[0] && nrs.includes(chosen[1]))) return lightSyscall(...chosen);
  const squares = new Set(here.flatMap(([, , arch, ...nrs]) => nrs.map((nr) => key(arch, nr))));
  const [[, , arch, ...nrs]] = here;
  const isOne = nrs.length === 1;
  const path = isOne ? paths.find((own) => own.arch === arch && own.nrs.includes(nrs[0])) : undefined;
  light(squares, new Set(path?.insns ?? []), `At the caret: ${named(here.map(([, , arch, ...nrs]) => ({ arch, nrs })))}.`);
}

/** Lights the syscalls that may execute an instruction. */
function lightInstruction(index) {
  const own = paths.filter(({ insns }) => insns.includes(index));
  const squares = new Set(own.flatMap(({ arch, nrs }) => nrs.map((nr) => key(arch, nr))));
  light(squares, new Set([index]), `Instruction ${index} is executed by ${own.length === 0 ? "no named syscall" : named(own)}.`);
}

/** Syscalls in words. */
function named(groups) {
  const names = new Set();
  for (const { arch, nrs } of groups) {
    for (const nr of nrs) {
      const path = paths.find((own) => own.arch === arch && own.nrs.includes(nr));
      names.add(path ? path.names[path.nrs.indexOf(nr)] : `syscall ${nr}`);
    }
  }
  const all = [...names];
  const rest = all.length - LISTED;
  return rest > 1 ? `${all.slice(0, LISTED).join(", ")} and ${grouped(rest)} more` : all.join(", ");
}

/** The listing: a click or the arrow keys choose an instruction. */
function connectListing() {
  const region = body.querySelector("#program .listing .code");
  if (region === null || paths.length === 0) return;
  region.setAttribute("aria-label", "Instructions, arrow keys choose one");
  const rows = rowsOf();
  let at = -1;
  const choose = (index) => {
    if (rows[index] === undefined) return;
    rows[at]?.classList.remove("current");
    at = index;
    rows[at].classList.add("current");
    rows[at].scrollIntoView({ block: "nearest" });
    lightInstruction(at);
  };
  region.addEventListener("click", (event) => choose(rows.indexOf(event.target.closest(".line"))));
  region.addEventListener("keydown", (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined || event.target !== region) return;
    event.preventDefault();
    choose(Math.min(rows.length - 1, Math.max(0, to)));
  });
}

// The caret of the filter.
addEventListener("caret", ({ target }) => {
  if (target.id === "text" && document.activeElement === target) lightPlace(target.line, target.column);
});
