// The languages that the editor colours: for each, a tokenizer of lines. They only colour; what a text means, the core says.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { Tag, tags } from "@lezer/highlight";
import { isSyscall } from "./syscalls.js";

const syscall = Tag.define();
const allows = Tag.define();
const denies = Tag.define();

/** Words that say what happens to a syscall, in any language. */
const ALLOWS = /^(?:SCMP_ACT_(?:ALLOW|LOG)|SECCOMP_RET_(?:ALLOW|LOG)|RET_ALLOW|ALLOW|LOG|allow|log)$/;
const DENIES = /^(?:SCMP_ACT_\w+|SECCOMP_RET_\w+|ERRNO|DENY|KILL\w*|TRAP|TRACE|USER_NOTIF|errno|deny|kill\w*|trap|trace|user_notif)$/;

/** The style of a word; null for a usual one. */
function styleOf(word) {
  if (ALLOWS.test(word)) return "allows";
  if (DENIES.test(word)) return "denies";
  return isSyscall(word) ? "syscall" : null;
}

const NUMBER = /^[-+]?(?:0x[\da-f]+|0b[01]+|\d[\d.]*(?:e[-+]?\d+)?)\b/i;
const WORD = /^[A-Za-z_][\w-]*/;

/** A tokenizer from rules: patterns at the place, each with a style or a function from the match to one. */
const language = (name, rules, comment) =>
  StreamLanguage.define({
    name,
    token(stream) {
      if (stream.eatSpace()) return null;
      for (const [pattern, style] of rules) {
        const match = stream.match(pattern);
        if (match && match[0] !== "") return typeof style === "function" ? style(match[0], stream) : style;
      }
      stream.next();
      return null;
    },
    languageData: { commentTokens: { line: comment } },
    tokenTable: { syscall, allows, denies },
  });

const ofString = (text, stream) => {
  if (stream.match(/^\s*:/, false)) return "propertyName";
  return styleOf(text.replace(/^["']|["']$/g, "")) ?? "string";
};

const STRING = /^"(?:[^"\\]|\\.)*"?/;
const BLOCK_COMMENT = /^\/\*.*?(?:\*\/|$)/;

const LANGUAGES = {
  json: language("json", [
    [STRING, ofString],
    [/^\/\/.*/, "comment"],
    [NUMBER, "number"],
    [/^(?:true|false|null)\b/, "atom"],
    [/^[{}[\],:]/, "punctuation"],
    [WORD, "invalid"],
  ], "//"),
  yaml: language("yaml", [
    [/^#.*/, "comment"],
    [/^(?:---|\.\.\.)/, "punctuation"],
    [STRING, ofString],
    [/^'(?:[^']|'')*'?/, ofString],
    [NUMBER, "number"],
    [/^(?:true|false|null|~)(?=\s|$)/, "atom"],
    [/^[\w$./-]+(?=\s*:(?:\s|$))/, (word) => styleOf(word) ?? "propertyName"],
    [/^[\w$./-]+/, styleOf],
    [/^[-?:,[\]{}|>&*!]/, "punctuation"],
  ], "#"),
  kafel: language("kafel", [
    [/^\/\/.*/, "comment"],
    [BLOCK_COMMENT, "comment"],
    [/^#\w+.*/, "meta"],
    [STRING, "string"],
    [/^(?:POLICY|USE|DEFAULT)\b/, "keyword"],
    [NUMBER, "number"],
    [WORD, styleOf],
    [/^(?:&&|\|\||[=!<>]=|[<>&|~=!])/, "operator"],
    [/^[{}(),;]/, "punctuation"],
  ], "//"),
  assembly: language("assembly", [
    [/^(?:;|\/\/|#(?![\dx])).*/, "comment"],
    [BLOCK_COMMENT, "comment"],
    [/^[\w.]+:/, "labelName"],
    [/^(?:ld|ldi|ldx|st|stx|tax|txa|ret|jmp|ja|jeq|jneq|jne|jgt|jge|jlt|jle|jset|add|sub|mul|div|mod|neg|and|or|xor|lsh|rsh|if|goto|return)\b/i, "keyword"],
    [/^#?[-+]?(?:0x[\da-f]+|\d+)\b/i, "number"],
    [/^\d{4}:/, "labelName"],
    [WORD, (word) => styleOf(word) ?? "variableName"],
    [/^(?:[=!<>]=|[<>&|+*=-])/, "operator"],
    [/^[[\](),]/, "punctuation"],
  ], ";"),
  unit: language("unit", [
    [/^[#;].*/, (text, stream) => (stream.column() === stream.indentation() ? "comment" : null)],
    [/^\[[\w-]+\]/, "heading"],
    [/^[A-Z]\w*(?=\s*=)/, "propertyName"],
    [/^@[\w-]+/, "typeName"],
    [/^~/, "operator"],
    [/^(?:yes|no|true|false|on|off)\b/, "atom"],
    [WORD, (word) => styleOf(word)],
    [NUMBER, "number"],
  ], "#"),
  tests: language("tests", [
    [/^#.*/, "comment"],
    [NUMBER, "number"],
    [/^_\b/, "atom"],
    [WORD, styleOf],
    [/^=/, "operator"],
    [/^[(),|;]/, "punctuation"],
  ], "#"),
  rules: language("rules", [
    [/^#.*/, "comment"],
    [/^@\w+/, "meta"],
    [/^[\w$-]+(?=\s*:)/, (word) => styleOf(word) ?? "propertyName"],
    [NUMBER, "number"],
    [WORD, styleOf],
    [/^(?:&&|\|\||[=!<>]=|[<>&|:;])/, "operator"],
  ], "#"),
};

/** How much of a text its language is guessed from. */
const HEAD = 4000;

/** The language with a name. */
export const languageNamed = (name) => LANGUAGES[name];

/** The language that a text looks like; null for none of them. */
export function languageOf(text) {
  const head = text.slice(0, HEAD);
  if (/^[ \t]*\[[A-Z]\w+\][ \t]*$/m.test(head)) return LANGUAGES.unit;
  if (/^[{[]/.test(head.replace(/^[ \t]*\/\/.*$/gm, "").trimStart())) return LANGUAGES.json;
  if (/^[ \t]*(?:[\w.]+:[ \t]*)?(?:ldx?|ret|jeq|jge|jgt|jset|jmp)\b/m.test(head) || /^[ \t]*\d{4}: 0x/m.test(head)) return LANGUAGES.assembly;
  if (/\b(?:POLICY|USE|DEFAULT|ALLOW|DENY|KILL|ERRNO)\b[ \t]*[\w({]/.test(head)) return LANGUAGES.kafel;
  if (/^[ \t]*(?:apiVersion|kind|spec|defaultAction|syscalls)[ \t]*:/m.test(head)) return LANGUAGES.yaml;
  return /^[ \t]*[\w@-]+[ \t]*:/m.test(head) ? LANGUAGES.rules : null;
}

export const highlighting = syntaxHighlighting(
  HighlightStyle.define([
    { tag: syscall, class: "tok-syscall" },
    { tag: allows, class: "tok-allows" },
    { tag: denies, class: "tok-denies" },
    { tag: tags.propertyName, class: "tok-key" },
    { tag: [tags.keyword, tags.heading, tags.meta], class: "tok-keyword" },
    { tag: [tags.string, tags.typeName, tags.labelName], class: "tok-string" },
    { tag: [tags.number, tags.atom, tags.bool], class: "tok-number" },
    { tag: tags.comment, class: "tok-comment" },
    { tag: tags.invalid, class: "tok-invalid" },
  ]),
);
