// Bad input: a message, and the page still works.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PROFILE, answered, before, drops, noticed, opens, pastes, ready, scratchFile, selects, shows, value, withPage } from "./harness.mjs";

const GOOD = "ALLOW { read, write } DEFAULT KILL";
const TEN_MB = 10 << 20;

const works = async (page) => assert.match(await shows(page, GOOD), /^Allows: 2 of/);

test("garbage is an error with a position, and the old answer is marked", () =>
  withPage(async (page) => {
    await works(page);
    const status = await shows(page, '{"defaultAction": "SCMP_ACT_ERRNO",\n "syscalls": [}');
    assert.match(status, /^Error: /);
    assert.match(await page.textContent("#messages"), /filter:2:15/);
    assert.ok(await page.$("#body.stale"));
    await page.click("#messages .place");
    assert.equal(await page.$eval("#text", (field) => field.selectionStart), 50);
    for (const text of ["\u0000\u0001", "}{", "🦀".repeat(200), "(".repeat(100_000), "[".repeat(100_000), "x\n".repeat(9_000)]) {
      assert.match(await shows(page, text), /error/i);
    }
    await works(page);
    assert.equal(await page.$("#body.stale"), null);
  }));

test("files that are neither text nor programs are refused, and programs are read", () =>
  withPage(async (page) => {
    await page.setInputFiles("#file", scratchFile("noise.bin", Buffer.from([0xff, 0xfe, 0, 1, 2])));
    await noticed(page, /neither text/);
    // ret ALLOW.
    await opens(page, scratchFile("allow.bpf", Buffer.from([6, 0, 0, 0, 0, 0, 0xff, 0x7f])));
    assert.match(await page.textContent("#head"), /1 instruction, proved/);
    await works(page);
  }));

test("10 MB are refused with a message, and the page still works", () =>
  withPage(async (page) => {
    await page.setInputFiles("#file", scratchFile("large.json", "a".repeat(TEN_MB)));
    await noticed(page, /10,485,760 bytes/);
    await works(page);
    assert.equal(await pastes(page, "text", "a".repeat(TEN_MB)), false);
    assert.equal(await value(page), GOOD);
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

const name = (page) => page.$eval("#text", (field) => field.dataset.name);

test("a program that is too large as text is refused before it is shown", () =>
  withPage(async (page) => {
    await works(page);
    await page.setInputFiles("#file", scratchFile("many.bpf", Buffer.alloc(500_000 - (500_000 % 8), Buffer.from([6, 0, 0, 0, 0, 0, 0xff, 0x7f]))));
    await noticed(page, /500,000 bytes.*at most 79,992/);
    assert.equal(await value(page), GOOD);
  }));

test("of several dropped files, the last one counts, and a directory has a message", () =>
  withPage(async (page) => {
    await drops(page, "slow.kafel", "ALLOW { write } DEFAULT KILL", { delay: 300 });
    await answered(page, () => drops(page, "fast.kafel", GOOD));
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(await value(page), GOOD);
    assert.equal(await name(page), "fast.kafel");
    await drops(page, "directory", "", { fails: true });
    await noticed(page, /directory cannot be read/);
    await works(page);
  }));

test("a text that replaces that of a file has no file", () =>
  withPage(async (page) => {
    await opens(page, scratchFile("named.kafel", GOOD));
    assert.equal(await name(page), "named.kafel");
    await shows(page, "ALLOW { raed } DEFAULT KILL");
    assert.equal(await name(page), "");
    assert.match(await page.textContent("#messages"), /filter:1:9/);
    await opens(page, scratchFile("other.kafel", GOOD));
    assert.equal(await name(page), "other.kafel");
    await page.focus("#text");
    await page.keyboard.press("Control+A");
    await answered(page, () => page.keyboard.insertText("x"));
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => document.getElementById("text").dataset.name === "");
    assert.equal(await name(page), "");
  }));

test("places of two files with one name are those of each", () =>
  withPage(async (page) => {
    await opens(page, scratchFile("profile.kafel", GOOD));
    await selects(page, "compare");
    await page.evaluate((bad) => {
      const before = document.getElementById("before");
      [before.value, before.dataset.name] = [bad, "profile.kafel"];
    }, "ALLOW { read,\n raed } DEFAULT KILL");
    await answered(page, () => page.$eval("#before", (field) => field.dispatchEvent(new Event("input"))));
    await page.click("#messages .place");
    assert.equal(await page.evaluate(() => document.activeElement.id), "before");
    assert.equal(await page.$eval("#before", (field) => field.selectionStart), 15);
  }));

test("an old answer is not shown as that of another tab", () =>
  withPage(async (page) => {
    await works(page);
    await shows(page, "}{");
    assert.ok(await page.$("#body.stale #summary"));
    await selects(page, "program");
    assert.equal(await page.$("#body section"), null);
    assert.equal(await page.isVisible("#note"), false);
  }));

test("flags with blanks are one argument", () =>
  withPage(async (page) => {
    await shows(page, "ALLOW { openat } DEFAULT KILL");
    await selects(page, "simulate");
    const status = await answered(page, () => page.fill("#call", "openat(AT_FDCWD, 0, O_RDWR | O_CREAT)"));
    assert.match(status, /O_RDWR\|O_CREAT.*: ALLOW|O_CREAT\|O_RDWR.*: ALLOW/);
  }));

test("variables have values, and a message without them", () =>
  withPage(async (page) => {
    assert.match(await shows(page, "ALLOW { read, write { fd == $log } } DEFAULT KILL"), /variables without values: log/);
    await page.evaluate(() => (document.getElementById("options").open = true));
    assert.match(await answered(page, () => page.fill("#set", "log=2")), /^Allows: 1 of .* 1 more/);
  }));

test("a core that cannot be loaded is loaded again, and a slow one is not stopped", async () => {
  let attempts = 0;
  before.set("callgate.wasm", () => {
    attempts += 1;
    if (attempts === 1) throw new Error("unavailable");
  });
  // Longer than a request may take.
  before.set("worker.js", () => new Promise((resolve) => setTimeout(resolve, 6000)));
  try {
    await withPage(
      async (page) => {
        await page.waitForSelector("#messages button");
        assert.match(await page.textContent("#messages"), /cannot be loaded: callgate.wasm: 503/);
        await page.fill("#text", GOOD);
        await page.click("#messages button");
        await ready(page);
        await works(page);
      },
      { isReady: false, ignoresErrors: true },
    );
  } finally {
    before.clear();
  }
});

test("the first part of the module answers, and a request that needs the rest waits for it", async () => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  before.set("rest.wasm", () => held);
  try {
    await withPage(async (page) => {
      assert.match(await opens(page, PROFILE), /^Allows: 3/);
      const converted = answered(page, () => page.click("#tab-convert"));
      await page.waitForSelector("#busy:not([hidden])");
      // What the first part can answer does not wait for the rest.
      await page.click("#tab-explanation");
      assert.match(await converted, /^Allows: 3/);
      const again = answered(page, () => page.click("#tab-convert"));
      await page.waitForSelector("#busy:not([hidden])");
      release();
      assert.doesNotMatch(await again, /cannot be loaded|failed/);
      assert.ok((await page.$$("#body .code .line")).length > 100);
    });
  } finally {
    release();
    before.delete("rest.wasm");
  }
});

test("a rest of the module that cannot be loaded is loaded again", async () => {
  let fails = true;
  before.set("rest.wasm", () => {
    if (fails) throw new Error("not now");
  });
  try {
    await withPage(
      async (page) => {
        assert.match(await selects(page, "convert"), /cannot be loaded: rest\.wasm: 503/);
        fails = false;
        assert.doesNotMatch(await answered(page, () => page.click("#messages button")), /cannot be loaded/);
        assert.ok((await page.$$("#body .code .line")).length > 10);
      },
      { ignoresErrors: true },
    );
  } finally {
    before.delete("rest.wasm");
  }
});
