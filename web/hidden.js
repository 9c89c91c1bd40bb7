// Characters that make a text look different from what is read: those that are not visible, and those that change its order.

/** Not visible, or not assigned: control and format characters, fillers, and what has no form. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/u;

/** Letters that are written from right to left, which move what is between them. */
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Those that override or isolate a direction (UAX #9). */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Anything that is not in most policies. */
const UNUSUAL = /[^\n\r\t\x20-\x7e]/u;

/** The maximum number of places that are shown per text. */
const SHOWN = 5;

const named = (char) => `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

function why(char) {
  if (DIRECTION.test(char)) return `${named(char)} changes the order in which text is shown`;
  if (UNSEEN.test(char)) return `${named(char)} is not visible`;
  return `${named(char)} is a letter that is written from right to left, so this line is not shown in the order in which it is read`;
}

/** Whether the browser shows the character as a part of the one before: emoji are made of several. */
const isOfEmoji = (char, before) => /[\u200d\ufe0e\ufe0f\u{e0020}-\u{e007f}]/u.test(char) && /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\u{e0020}-\u{e007f}]/u.test(before);

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
      const isUnseen = char !== "\t" && !isMark && UNSEEN.test(char) && !isOfEmoji(char, before);
      const isLetter = !hasLetter && !isUnseen && LEFTWARD.test(char);
      before = char;
      if (!isUnseen && !isLetter) continue;
      hasLetter ||= isLetter;
      if (places.length < SHOWN) places.push({ line: index + 1, column, text: why(char) });
      else more += 1;
    }
  });
  return { places, more };
}
