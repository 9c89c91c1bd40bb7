// Texts that were made to stop the page: from links, files, the clipboard and a mouse.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { answered, drops, noticed, origin, pastes, scratchFile, selects, shows, value, withPage } from "./harness.mjs";

const GOOD = "ALLOW { read, write } DEFAULT KILL";

/** The longest time for which a hostile text may stop the page, in milliseconds. */
const LONGEST = 1000;

/** Texts beyond the limits, which would take seconds or minutes, with what the message says. */
const BEYOND = {
  "right-to-left letters in lines": ["א\n".repeat(400_000), /800,000 characters, and .* at most/],
  "line breaks": ["\n".repeat(200_000), /200,001 lines, and .* at most/],
  "a long line": ["a".repeat(5_000_000), /5,000,000 characters, and .* at most/],
  "nested brackets": ["[".repeat(1_000_000), /1,000,000 characters, and .* at most/],
  "combining characters": [`a${"\u0301".repeat(4000)}`, /4,000 characters that are not printable ASCII in line 1, and .* at most 500 per line/],
  "both directions in a line": ["אa".repeat(4000), /4,000 characters that are not printable ASCII in line 1/],
  "distinct lines": [Array.from({ length: 60_000 }, (_, at) => at.toString(36)).join("\n"), /60,000 lines, and .* at most/],
  "tabs between letters": ["a\t\n".repeat(4900) + "a\t".repeat(40_000), /characters that are not printable ASCII/],
  "control characters": [("\u0001a".repeat(20) + "\n").repeat(4000), /80,000 characters that are not printable ASCII/],
};

/** Texts at the limits of fields, which the page shows. */
const WITHIN = {
  "empty lines": `x${"\n".repeat(9_999)}`,
  "right-to-left letters in lines": "א\n".repeat(9_999),
  "two directions in lines": "אaב".padEnd(51, "abc ").concat("\n").repeat(9_999),
  "combining characters": Array.from({ length: 40 }, () => "\u0301".repeat(500)).join("\n"),
  "two directions in long lines": Array.from({ length: 40 }, () => "אa".repeat(500)).join("\n"),
  "one line": "a".repeat(1 << 19),
  "distinct lines": Array.from({ length: 10_000 }, (_, at) => `x${at} `.padEnd(51, "abcdefg hij ")).join("\n"),
  "many letters": Array.from({ length: 200 }, (_, at) => String.fromCodePoint(...Array.from({ length: 100 }, (_, own) => 0x3400 + at * 100 + own))).join("\n"),
  "brackets": "[".repeat(1 << 19),
  "slashes": "/".repeat(1 << 19),
  "words in a line": "read, ".repeat(80_000),
  "blanks": `x${" ".repeat(500_000)}x`,
};

/** The fragment of a link with this state. */
const link = (state) => `#v1=${deflateRawSync(JSON.stringify(state), { level: 9 }).toString("base64url")}`;

/** Notes the longest task of the page from now on. */
const watch = (page) =>
  page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => (window.longest = Math.max(window.longest, duration)))).observe({ type: "longtask" });
  });

const longest = (page) =>
  page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)));
    return Math.round(window.longest);
  });

/** The time is shown; a failure needs more than a busy machine. */
async function isPrompt(page, what) {
  const time = await longest(page);
  console.log(`${what}: the longest task took ${time} ms`);
  assert.ok(time < 5 * LONGEST, `${what}: ${time} ms`);
}

for (const [what, [text, message]] of Object.entries(BEYOND)) {
  test(`${what} beyond the limits are refused from the clipboard, in files and dropped`, () =>
    withPage(async (page) => {
      await shows(page, GOOD);
      await watch(page);
      assert.equal(await pastes(page, "text", text), false);
      await noticed(page, message);
      await page.evaluate(() => (document.getElementById("notice").textContent = ""));
      await page.setInputFiles("#file", scratchFile("hostile.txt", text));
      await noticed(page, text.length > 3_000_000 ? /bytes, and this page reads at most/ : message);
      await page.evaluate(() => (document.getElementById("notice").textContent = ""));
      await drops(page, "hostile.txt", text);
      await noticed(page, text.length > 3_000_000 ? /bytes, and this page reads at most/ : message);
      assert.equal(await value(page), GOOD);
      await isPrompt(page, what);
    }));

  test(`a link with ${what} is refused`, () =>
    withPage(
      async (page) => {
        await noticed(page, /Ask for the file instead/);
        assert.equal(await value(page), "");
        assert.match(await shows(page, GOOD), /^Allows: 2 of/);
      },
      { fragment: link({ text }) },
    ));
}

for (const [what, text] of Object.entries(WITHIN)) {
  test(`${what} at the limits do not stop the page`, () =>
    withPage(async (page) => {
      await shows(page, GOOD);
      await watch(page);
      await shows(page, text);
      assert.equal(await value(page), text);
      for (const view of ["findings", "program", "explanation"]) await selects(page, view);
      await isPrompt(page, what);
    }));
}

test("a text that is dragged into a field, and options, have limits too", () =>
  withPage(async (page) => {
    await shows(page, GOOD);
    const inserts = (id, data) =>
      page.evaluate(
        ([id, data]) => {
          const event = new InputEvent("beforeinput", { data, inputType: "insertFromDrop", bubbles: true, cancelable: true });
          return document.getElementById(id).dispatchEvent(event);
        },
        [id, data],
      );
    assert.equal(await inserts("text", "\n".repeat(20_000)), false);
    await noticed(page, /20,001 lines, and this page reads at most 10,000/);
    assert.equal(await inserts("text", "read"), true);
    assert.equal(await inserts("call", "x".repeat(1001)), false);
    await noticed(page, /would have 1,001 characters, and the limit is 1,000/);
    assert.equal(await pastes(page, "arches", "א".repeat(100_000)), false);
    assert.equal(await page.inputValue("#arches"), "");
    // Several texts below the limit are above it together.
    assert.equal(await pastes(page, "text", "x\n".repeat(6000)), true);
    await page.evaluate(() => document.getElementById("text").setSelectionRange(0, 0));
    assert.equal(await inserts("text", "x\n".repeat(6000)), false);
  }));

test("a compressed bomb is decompressed only up to the limit", () =>
  withPage(
    async (page) => {
      await noticed(page, /more than 524,288 bytes, and this page opens at most that many/);
      const counted = await page.evaluate(async (fragment) => {
        let bytes = 0;
        const { read } = ReadableStreamDefaultReader.prototype;
        ReadableStreamDefaultReader.prototype.read = async function (...rest) {
          const result = await read.apply(this, rest);
          bytes += result.value?.length ?? 0;
          return result;
        };
        let given = 0;
        const { write } = WritableStreamDefaultWriter.prototype;
        WritableStreamDefaultWriter.prototype.write = function (chunk) {
          given += chunk.length;
          return write.call(this, chunk);
        };
        const { stateOf } = await import("./share.js");
        const result = await stateOf(fragment.slice(1));
        return { bytes, given, failure: result.failure };
      }, BOMB);
      assert.match(counted.failure, /more than/);
      assert.ok(counted.bytes < 1 << 20, `${counted.bytes} bytes`);
      assert.ok(counted.given < 2000, `${counted.given} of ${BOMB.length} characters were decompressed`);
    },
    { fragment: BOMB },
  ));

/** 20 MB of zeros in 27,000 characters. */
const BOMB = `#v1=${deflateRawSync(Buffer.alloc(20 << 20)).toString("base64url")}`;

const LARGE = `${"# A comment that fills the text.\n".repeat(2500)}`;

test("a large link is opened after a question only", () =>
  withPage(
    async (page) => {
      assert.match(await page.textContent("#question"), /This link holds 83 kB of text in 2,501 lines/);
      assert.ok(await page.isVisible("#question"));
      assert.equal(await page.evaluate(() => document.activeElement.id), "question-no");
      assert.equal(await value(page), "");
      await page.keyboard.press("Escape");
      await noticed(page, /not opened/);
      assert.equal(await page.isVisible("#question"), false);
      assert.equal(await value(page), "");
      // The same link again, and another one while it is asked.
      await page.evaluate((fragment) => {
        location.hash = "";
        location.hash = fragment;
      }, link({ text: LARGE }));
      await page.waitForSelector("#question[open]");
      await page.evaluate((fragment) => (location.hash = fragment), link({ text: GOOD }));
      await page.waitForFunction((text) => document.getElementById("text").value === text, GOOD);
      assert.equal(await page.isVisible("#question"), false);
      await page.evaluate((fragment) => (location.hash = fragment), link({ text: LARGE }));
      await page.click("#question-yes");
      await page.waitForFunction((text) => document.getElementById("text").value === text, LARGE);
      assert.equal(await page.isVisible("#question"), false);
    },
    { fragment: link({ text: LARGE }) },
  ));

test("usual links are opened at once", () =>
  withPage(async (page) => assert.equal(await value(page), GOOD), { fragment: link({ text: GOOD }) }));

test("options in a link have limits", () =>
  withPage(
    async (page) => {
      await noticed(page, /An option in the link has 100,000 characters, and the limit is 1,000/);
      assert.equal(await page.inputValue("#call"), "");
    },
    { fragment: link({ text: GOOD, call: "א".repeat(100_000) }) },
  ));

test("what is not as it looks has a warning with its place", () =>
  withPage(
    async (page) => {
      const messages = await page.textContent("#messages");
      assert.match(messages, /filter:1:5 U\+202E changes the order in which text is shown/);
      assert.match(messages, /filter:1:9 U\+200B is not visible/);
      assert.match(messages, /filter:2:4 U\+05D0 is a letter that is written from right to left/);
      assert.match(await page.textContent("#status"), /not as it looks/);
      await page.click("#messages .place");
      assert.deepEqual(await page.$eval("#text", (field) => [document.activeElement.id, field.selectionStart]), ["text", 4]);
      await selects(page, "compare");
      await answered(page, () => pastes(page, "before", `${GOOD} // \u2066`));
      assert.match(await page.textContent("#messages"), /the older filter:1:39 U\+2066/);
      // Emoji are made of several characters, and files of some editors begin with a mark.
      await selects(page, "explanation");
      await shows(page, `\ufeff// ⚠️ 👩‍👩‍👧 日本 é\n${GOOD}`);
      assert.doesNotMatch(await page.textContent("#messages"), /U\+/);
      await shows(page, `// ${"\u200b".repeat(500)}\n${GOOD}`);
      assert.match(await page.textContent("#messages"), /filter has 495 more of such characters/);
    },
    { fragment: link({ text: `// a\u202ebcd\u200b\n// אב\n${GOOD}` }) },
  ));

test("a text that links do not hold is not shared", () =>
  withPage(async (page) => {
    await shows(page, "\n".repeat(6000) + GOOD);
    await page.click("#share");
    await noticed(page, /6,001 lines, and a link holds at most 5,000. Send the file instead/);
    assert.equal(page.url(), origin);
  }));
