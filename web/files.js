// Texts and files that are opened, dropped or pasted: they are refused before a field has them if they are too large.

import { FIELDS } from "./controls.js";
import { ELSEWHERE, FIELD, MAX_WORD, excess } from "./limits.js";
import { notify } from "./notice.js";

/** The size of an instruction, `struct sock_filter`, in bytes. */
const INSN = 8;

/** The length of a text that the browser pastes itself, so that Undo works. */
const PASTED = 10_000;

const get = (id) => document.getElementById(id);

/** The size of a file that may still be a text within the limits: UTF-8 has at most 3 bytes per unit of UTF-16. */
const MAX_FILE = 3 * FIELD.characters;

/** The size of a program, of which each instruction becomes a line of hexadecimal digits; the last line is empty. */
const MAX_PROGRAM = (FIELD.lines - 1) * INSN;

const tooLarge = (what, size, limit) =>
  `The ${what} has ${size.toLocaleString("en")} bytes, and this page reads at most ${limit.toLocaleString("en")}. ${ELSEWHERE}`;

/** The content of a file as text: a BPF program becomes bytes in hexadecimal. `failure` says why it is not read. */
async function textOf(file) {
  if (file.size > MAX_FILE) return { failure: tooLarge("file", file.size, MAX_FILE) };
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) {
      const why = excess(text, FIELD, "The file");
      return why ? { failure: `${why} ${ELSEWHERE}` } : { text };
    }
  } catch {
    // Not text.
  }
  if (bytes.length === 0 || bytes.length % INSN !== 0) {
    return { failure: "The file is neither text in UTF-8 nor a BPF program, whose size is a multiple of 8 bytes." };
  }
  if (bytes.length > MAX_PROGRAM) return { failure: tooLarge("program", bytes.length, MAX_PROGRAM) };
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
  const lines = [];
  for (let at = 0; at < hex.length; at += INSN) lines.push(hex.slice(at, at + INSN).join(""));
  return { text: `${lines.join("\n")}\n`, isProgram: true };
}

/** How many files each field was given: only the newest counts, even if an older one is read later. */
const given = { text: 0, before: 0, log: 0, tests: 0 };

async function read(field, file, place) {
  const number = ++given[field];
  let result;
  try {
    result = await textOf(file);
  } catch {
    result = { failure: `${file.name} cannot be read. Directories are not read.` };
  }
  if (number !== given[field]) return;
  if (result.failure) return notify(result.failure);
  // The extension of a program would announce bytes.
  place(field, result.isProgram ? file.name.replace(/\.bpf$/, "") : file.name, result.text);
}

export function connectFiles(place) {
  let field = "text";
  const input = get("file");
  const open = (target) => {
    field = target;
    input.value = "";
    input.click();
  };
  get("open").addEventListener("click", () => open("text"));
  get("open-before").addEventListener("click", () => open("before"));
  get("open-log").addEventListener("click", () => open("log"));
  input.addEventListener("change", () => input.files[0] && read(field, input.files[0], place));
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    read(["before", "log", "tests"].includes(event.target.id) ? event.target.id : "text", files[0], place);
  }, { capture: true });
  for (const field of document.querySelectorAll("textarea, input[type=text]")) {
    field.addEventListener("paste", paste);
    field.addEventListener("beforeinput", guard);
  }
  for (const id of FIELDS) get(id).addEventListener("input", forget);
}

/** Why a field does not take a text in place of its selection; null if it does. */
function refusal(field, text) {
  const rest = field.value.length - (field.selectionEnd - field.selectionStart);
  if (field.localName === "input") {
    const [given, limit] = [rest + text.length, MAX_WORD].map((length) => length.toLocaleString("en"));
    return rest + text.length > MAX_WORD ? `The field would have ${given} characters, and the limit is ${limit}.` : null;
  }
  const whole = field.value.slice(0, field.selectionStart) + text + field.value.slice(field.selectionEnd);
  const why = excess(whole, FIELD);
  return why && `${why} ${ELSEWHERE}`;
}

/** Refuses what the browser itself would put into a field: a dragged text, a correction, a text of an input method. */
export function guard(event) {
  const text = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
  // Single characters are typed; the request checks the result.
  if (text.length <= 2) return;
  const why = refusal(event.target, text);
  if (why === null) return;
  event.preventDefault();
  notify(why);
}

/** Browsers paste long texts slowly, and would paste one that is too long before it could be refused. */
function paste(event) {
  const field = event.target;
  const text = event.clipboardData?.getData("text/plain") ?? "";
  // The name was that of the text that is replaced.
  const isReplaced = field.selectionStart === 0 && field.selectionEnd === field.value.length;
  const why = refusal(field, text);
  if (why !== null) {
    event.preventDefault();
    return notify(why);
  }
  if (field.localName === "input") return;
  if (isReplaced) field.dataset.name = "";
  if (text.length <= PASTED) return;
  event.preventDefault();
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input"));
}

/** An empty field has no file. */
function forget(event) {
  if (event.target.value === "") event.target.dataset.name = "";
}
