// Bad input: a message, and the page still works.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, opens, pastes, scratchFile, selects, shows, withPage } from "./harness.mjs";

const GOOD = "ALLOW { read, write } DEFAULT KILL";
const TEN_MB = 10 << 20;

const works = async (page) => assert.match(await shows(page, GOOD), /^Allows: 2 of/);
const notice = (page) => page.waitForSelector("#notice:not([hidden])").then((element) => element.textContent());

test("garbage is an error with a position, and the old answer is marked", () =>
  withPage(async (page) => {
    await works(page);
    const status = await shows(page, '{"defaultAction": "SCMP_ACT_ERRNO",\n "syscalls": [}');
    assert.match(status, /^Error: /);
    assert.match(await page.textContent("#messages"), /filter:2:15/);
    assert.ok(await page.$("#body.stale"));
    await page.click("#messages .place");
    assert.equal(await page.$eval("#text", (field) => field.selectionStart), 50);
    for (const text of ["\u0000\u0001", "}{", "🦀".repeat(1000), "(".repeat(100_000), "[".repeat(100_000), "x\n".repeat(50_000)]) {
      assert.match(await shows(page, text), /error/i);
    }
    await works(page);
    assert.equal(await page.$("#body.stale"), null);
  }));

test("files that are neither text nor programs are refused, and programs are read", () =>
  withPage(async (page) => {
    await page.setInputFiles("#file", scratchFile("noise.bin", Buffer.from([0xff, 0xfe, 0, 1, 2])));
    assert.match(await notice(page), /neither text/);
    // ret ALLOW.
    await opens(page, scratchFile("allow.bpf", Buffer.from([6, 0, 0, 0, 0, 0, 0xff, 0x7f])));
    assert.match(await page.textContent("#head"), /1 instruction, proved/);
    await works(page);
  }));

test("10 MB are refused with a message, and the page still works", () =>
  withPage(async (page) => {
    await page.setInputFiles("#file", scratchFile("large.json", "a".repeat(TEN_MB)));
    assert.match(await notice(page), /10,485,760 characters/);
    await works(page);
    assert.equal(await pastes(page, "text", "a".repeat(TEN_MB)), false);
    assert.equal(await page.inputValue("#text"), GOOD);
    const status = await answered(page, () =>
      page.evaluate((length) => {
        const field = document.getElementById("text");
        field.value = "[1] ".repeat(length / 4);
        field.dispatchEvent(new Event("input"));
      }, TEN_MB),
    );
    assert.match(status, /reads at most/);
    await works(page);
  }));

test("a program that is too complex ends with a message", () =>
  withPage(async (page) => {
    const program = ["ld [16]", "tax", "ld [24]", "mul x", "tax", "ld [32]", "mul x", "jeq #0x12345678, yes, no", "yes: ret #0x7fff0000", "no: ret #0"];
    const status = await shows(page, `${program.join("\n")}\n`);
    assert.match(status, /complex|stopped|limit|budget/);
    await works(page);
  }));

/** Text that must be shown as text. */
const HOSTILE = `<img src=x onerror="window.hacked=1">\u001b[31m\u202e\u0007'"&`;

/** What the page shows outside of the fields; titles and labels as well. */
const shown = (page) =>
  page.evaluate(() => {
    const parts = ["head", "messages", "note", "body", "status", "notice"].map((id) => document.getElementById(id));
    const attributes = parts.flatMap((part) => [...part.querySelectorAll("*")].flatMap((element) => [...element.attributes].map(({ value }) => value)));
    return {
      text: [...parts.map((part) => part.textContent), ...attributes].join("\u2063"),
      elements: [...new Set(parts.flatMap((part) => [...part.querySelectorAll("*")].map(({ localName }) => localName)))],
      hacked: window.hacked,
    };
  });

const KNOWN = new Set(
  "a b button code dd details div dl dt form g h2 h3 input label li option p path rect section select span summary svg table tbody td text th title tr ul".split(" "),
);

async function isHarmless(page) {
  const { text, elements, hacked } = await shown(page);
  assert.equal(hacked, undefined);
  assert.deepEqual(elements.filter((name) => !KNOWN.has(name)), []);
  assert.doesNotMatch(text.replaceAll("\u2063", "").replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
  return text;
}

test("names, comments and values are never HTML, and never control the page", () =>
  withPage(async (page) => {
    const json = JSON.stringify({
      defaultAction: "SCMP_ACT_ERRNO",
      [HOSTILE]: HOSTILE,
      listenerPath: HOSTILE,
      syscalls: [{ names: [HOSTILE, "read"], action: "SCMP_ACT_ALLOW", comment: HOSTILE, args: [] }],
    });
    const sources = [
      json,
      JSON.stringify({ defaultAction: HOSTILE }),
      HOSTILE,
      `// ${HOSTILE}\nPOLICY p { ALLOW { read, ${HOSTILE} } } USE p DEFAULT KILL`,
      `[Service]\nSystemCallFilter=${HOSTILE}\nSystemCallFilter=read ${HOSTILE}\n`,
      `read: arg0 == ${HOSTILE}\nwrite: 1`,
      `{"${HOSTILE}": {"default_action": "trap", "filter_action": "allow", "filter": [{"syscall": "${HOSTILE}"}]}}`,
      `ld [0]\njeq #1, ${HOSTILE}, x\nx: ret #0`,
    ];
    let seen = "";
    for (const source of sources) {
      await shows(page, source);
      for (const view of ["findings", "program", "convert", "explanation"]) {
        await selects(page, view);
        seen += await isHarmless(page);
      }
    }
    // The test shows something only if the text reaches the page.
    assert.match(seen, /<img src=x/);
    assert.match(seen, /\\u\{1b\}/);
  }));

test("the name of a file, options and calls are never HTML", () =>
  withPage(async (page) => {
    await opens(page, scratchFile("<img src=x onerror=hacked=1>\u202e.json", `{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["nothing"], "action": "SCMP_ACT_ALLOW"}]}`));
    assert.match(await isHarmless(page), /<img src=x/);
    await page.evaluate(() => (document.getElementById("options").open = true));
    for (const id of ["arches", "kernel", "caps"]) {
      await answered(page, () => page.fill(`#${id}`, HOSTILE));
      await isHarmless(page);
      await answered(page, () => page.fill(`#${id}`, ""));
    }
    await selects(page, "simulate");
    await answered(page, () => page.fill("#call", HOSTILE));
    assert.match(await isHarmless(page), /img/);
  }));
