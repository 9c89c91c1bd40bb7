// Limits of texts, checked before a text reaches a field.
//
// A browser lays out the text of a field as a whole, at once, and again after each key, so a text can stop the page. Lines
// cost most; then characters that are not printable ASCII, each of which may be a run of its own (tabs, other fonts, other
// directions). In one line, the time grows with the square of their number. The limits keep an update of the page below a
// second; docs/reference/web-page.md has the measurements.

/** The limits of the fields. Policies have hundreds of lines, listings of programs at most 4,096. */
export const FIELD = { characters: 1 << 19, lines: 10_000, special: 20_000, specialInLine: 500, where: "this page reads at most" };

/** The limits of links: others write them, and a click opens them. */
export const LINK = { characters: 1 << 17, lines: 5000, special: 5000, specialInLine: 500, where: "a link holds at most" };

/** The maximum length of a text that is no filter: a name, a list of architectures, a syscall. */
export const MAX_WORD = 1000;

const TAB = 9;
const LINE_FEED = 10;
const RETURN = 13;

/** The size of a text: its characters (units of UTF-16), its lines, and its characters that are not printable ASCII. */
function measure(text) {
  let [lines, special, inLine, most, mostAt] = [1, 0, 0, 0, 1];
  let last = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === LINE_FEED || code === RETURN) {
      // Both together are one line break.
      if (code === RETURN || last !== RETURN) lines += 1;
      inLine = 0;
    } else if ((code < 0x20 || code > 0x7e) && !(code === TAB && last === TAB)) {
      // Tabs in a row are as fast as one.
      special += 1;
      inLine += 1;
      if (inLine > most) [most, mostAt] = [inLine, lines];
    }
    last = code;
  }
  return { lines, special, most, mostAt };
}

const grouped = (number) => number.toLocaleString("en");

/** Why a text is not shown, with the limit and the given value; null if it is within the limits. */
export function excess(text, limits, what = "The text") {
  const because = (count, unit, limit, more = "") => `${what} has ${grouped(count)} ${unit}, and ${limits.where} ${grouped(limit)}${more}.`;
  if (text.length > limits.characters) return because(text.length, "characters", limits.characters);
  const { lines, special, most, mostAt } = measure(text);
  if (lines > limits.lines) return because(lines, "lines", limits.lines);
  const unit = "characters that are not printable ASCII";
  if (special > limits.special) return because(special, unit, limits.special);
  if (most > limits.specialInLine) return because(most, `${unit} in line ${grouped(mostAt)}`, limits.specialInLine, " per line");
  return null;
}

/** What to do with a text that is not shown. */
export const ELSEWHERE = "The command callgate reads larger ones.";

/** The number of lines of a text, as a field shows them. */
export const linesOf = (text) => measure(text).lines;
