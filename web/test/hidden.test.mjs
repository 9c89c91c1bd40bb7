// What the page shows has no hidden characters. Needs no browser; the properties are those of the Unicode version of Node.js.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readFile } from "node:fs/promises";

// Scripts of the page are modules, which only a package.json beside them would tell Node.js.
const source = await readFile(new URL("../hidden.js", import.meta.url), "utf8");
const { hiddenIn, visible } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const PROPERTIES =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Variation_Selector}\u2800\ue000\uffff]/u;

test("characters that are not visible are found and escaped", () => {
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const char = String.fromCodePoint(code);
    if (char === " " || !PROPERTIES.test(char)) continue;
    const hex = code.toString(16);
    assert.equal(visible(`a${char}b`), `a\\u{${hex}}b`);
    const { places } = hiddenIn(`a${char}b`);
    if ("\t\n\r".includes(char)) assert.deepEqual(places, []);
    else assert.deepEqual(places.map(({ line, column }) => [line, column]), [[1, 2]], hex);
  }
});

test("text of all scripts is shown", () => {
  for (const text of ["résumé e\u0301", "Ж ß Ελλάδα", "العربية مُحَمَّد", "עִבְרִית", "中文 日本語 한국어", "हिन्दी ไทย ខ្មែរ", "😀 ↑ €"]) {
    assert.equal(visible(text), text);
  }
  assert.deepEqual(hiddenIn("# 默认拒绝。\n# ⚠️ 👩‍👩‍👧 é\n").places, []);
});
