// Characters that make a text look different from what is read: those that are not visible, and those that change its order.

/** A class of characters from hexadecimal numbers and intervals of them. */
const classOf = (text) => new RegExp(`[${text.trim().replace(/([0-9a-f]+)\s*/g, "\\u{$1}")}]`, "u");

// A test of callgate-html demands that both lists are those of crates/callgate-bpf/src/printable.rs.

/** Shown as nothing or as a blank, or moving what is around them. */
const HIDDEN = classOf(`
  0-1f 7f-a0 ad 34f 600-605 61c 6dd 70f 890-891 8e2 115f-1160 1680 17b4-17b5 180b-180f 2000-200f 2028-202f 205f-206f
  2800 3000 3164 fe00-fe0f feff ffa0 fff0-fffb 110bd 110cd 13430-13446 16fe4 1bca0-1bca3 1d159 1d173-1d17a
  e0000-e0fff
`);

/** Those of them that override or isolate a direction (UAX #9). */
const DIRECTION = classOf(`61c 200e-200f 202a-202e 2066-2069`);

/** Without a form that is the same everywhere: half of a pair, for private use, or not assigned. */
const FORMLESS = /[\p{Cs}\p{Co}\p{Cn}]/u;

/** Letters that are written from right to left, which move what is between them. */
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Anything that is not in most policies. */
const UNUSUAL = /[^\n\r\t\x20-\x7e]/u;

/** The maximum number of places that are shown per text. */
const SHOWN = 5;

const isUnseen = (char) => HIDDEN.test(char) || FORMLESS.test(char);

const named = (char) => `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

function why(char) {
  if (DIRECTION.test(char)) return `${named(char)} changes the order in which text is shown`;
  if (isUnseen(char)) return `${named(char)} is not visible`;
  return `${named(char)} is a letter that is written from right to left, so this line is not shown in the order in which it is read`;
}

/** Whether the browser shows the character as a part of the one before: emoji are made of several. */
const isOfEmoji = (char, before) => /[\u200d\ufe0e\ufe0f\u{e0020}-\u{e007f}]/u.test(char) && /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\u{e0020}-\u{e007f}]/u.test(before);

/** Text with escapes for characters that are not visible or may reorder it. */
export function visible(text) {
  const shown = (char) => (isUnseen(char) ? `\\u{${char.codePointAt(0).toString(16)}}` : char);
  return Array.from(text, shown).join("");
}

/**
 * The places of such characters, each with its `line` and `column` in characters and what it is; one per line for letters.
 * `more` counts those that are left out.
 */
export function hiddenIn(text) {
  const places = [];
  let more = 0;
  if (!UNUSUAL.test(text)) return { places, more };
  text.split(/\r\n|\r|\n/).forEach((content, index) => {
    if (!UNUSUAL.test(content)) return;
    let [column, before, hasLetter] = [0, "", false];
    for (const char of content) {
      column += 1;
      const isMark = char === "\ufeff" && index === 0 && column === 1;
      const isFound = char !== "\t" && !isMark && isUnseen(char) && !isOfEmoji(char, before);
      const isLetter = !hasLetter && !isFound && LEFTWARD.test(char);
      before = char;
      if (!isFound && !isLetter) continue;
      hasLetter ||= isLetter;
      if (places.length < SHOWN) places.push({ line: index + 1, column, text: why(char) });
      else more += 1;
    }
  });
  return { places, more };
}
