// The editor: lines, colours, places, names of syscalls, and the policy of the page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { before, fills, shows, value, withPage } from "./harness.mjs";

const KAFEL = "// a comment\nPOLICY p { ALLOW { read, write, socket(family) { family == 1 } } }\nUSE p DEFAULT KILL\n";

/** The texts in the editor with a style. */
const styled = (page, style) => page.locator(`#text .${style}`).allTextContents();

test("lines have numbers, and languages have colours", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    const numbers = await page.locator("#text .cm-lineNumbers .cm-gutterElement").allTextContents();
    assert.deepEqual(numbers.slice(1), ["1", "2", "3", "4"]);
    assert.deepEqual(await styled(page, "tok-comment"), ["// a comment"]);
    assert.deepEqual(await styled(page, "tok-syscall"), ["read", "write", "socket"]);
    assert.deepEqual(await styled(page, "tok-keyword"), ["POLICY", "USE", "DEFAULT"]);
    assert.deepEqual(await styled(page, "tok-allows"), ["ALLOW"]);
    assert.deepEqual(await styled(page, "tok-denies"), ["KILL"]);
    const cases = [
      ['{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["ptrace"], "action": "SCMP_ACT_ALLOW"}]}', "tok-key", '"defaultAction"'],
      ["[Service]\n# note\nSystemCallFilter=@system-service ptrace\n", "tok-key", "SystemCallFilter"],
      ["ld [0]\njeq #101, deny, good\ndeny: ret #0\ngood: ret #0x7fff0000\n", "tok-keyword", "jeq"],
      ["apiVersion: v1\nkind: SeccompProfile\nspec:\n  defaultAction: SCMP_ACT_ERRNO\n", "tok-key", "kind"],
      ["read: 1\nptrace: arg0 == 1\n", "tok-syscall", "ptrace"],
    ];
    for (const [text, style, expected] of cases) {
      await fills(page, "text", text);
      assert.ok((await styled(page, style)).includes(expected), `${style}: ${await styled(page, style)}`);
    }
  }));

test("the places of an answer are underlined, and lead to the text and back", () =>
  withPage(async (page) => {
    await shows(page, "ALLOW {\n  read, raed\n} DEFAULT KILL\n");
    assert.deepEqual(await page.locator("#text .cm-lintRange-error").allTextContents(), ["raed"]);
    await page.click("#messages .place");
    assert.deepEqual(await page.$eval("#text", (field) => [document.activeElement.id, field.selectionStart, field.selectionEnd]), ["text", 16, 20]);
    assert.ok(await page.$("#messages li.cited"));
    await page.keyboard.press("Escape");
    assert.ok(await page.evaluate(() => document.activeElement.matches("#messages .place")));
    // The answer about another line is not marked.
    await page.evaluate(() => {
      const field = document.getElementById("text");
      field.focus();
      field.setSelectionRange(0, 0);
    });
    assert.equal(await page.$("#messages li.cited"), null);
    await fills(page, "text", KAFEL);
    assert.equal(await page.locator("#text .cm-lintRange-error").count(), 0);
  }));

test("a syscall says what it is for", () =>
  withPage(async (page) => {
    await shows(page, "ALLOW { read, ptrace } DEFAULT KILL");
    await page.locator("#text .tok-syscall", { hasText: "ptrace" }).hover();
    const tip = page.locator("#text .about-syscall");
    await tip.waitFor();
    const text = await tip.textContent();
    assert.match(text, /ptrace\(request, pid, addr, data\)/);
    assert.match(text, /Dangerous: /);
    assert.match(text, /man 2 ptrace/);
  }));

test("names of syscalls are completed", () =>
  withPage(async (page) => {
    await shows(page, "ALLOW { ");
    await page.focus("#text");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("clock_nano", { delay: 20 });
    await page.locator("#text .cm-tooltip-autocomplete li").first().waitFor();
    assert.match(await page.locator("#text .cm-tooltip-autocomplete li").first().textContent(), /^clock_nanosleep\(/);
    await page.waitForTimeout(200);
    await page.keyboard.press("Enter");
    assert.equal(await value(page), "ALLOW { clock_nanosleep");
    await page.keyboard.press("Control+Z");
    assert.equal(await value(page), "ALLOW { clock_nano");
  }));

test("the editor keeps the policy of the page: no inline styles and no elements of style", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    const found = await page.evaluate(() => {
      const root = document.getElementById("text").shadowRoot;
      return [root.adoptedStyleSheets.length > 0, root.querySelectorAll("style, link").length, document.querySelectorAll("style").length];
    });
    assert.deepEqual(found, [true, 0, 0]);
    const paper = await page.locator("#text .cm-editor").evaluate((editor) => getComputedStyle(editor).backgroundColor);
    assert.equal(paper, "rgb(255, 255, 255)");
  }));

test("Tab leaves the editor", () =>
  withPage(async (page) => {
    await page.focus("#text");
    await page.keyboard.press("Tab");
    assert.notEqual(await page.evaluate(() => document.activeElement.id), "text");
  }));

test("without the editor, the page has plain fields", async () => {
  before.set("editor.js", () => {
    throw new Error("unavailable");
  });
  try {
    await withPage(
      async (page) => {
        assert.equal(await page.$eval("#text", (field) => field.localName), "textarea");
        assert.match(await shows(page, "ALLOW { read } DEFAULT KILL"), /^Allows: 1 of/);
        await shows(page, "ALLOW { raed } DEFAULT KILL");
        await page.click("#messages .place");
        assert.equal(await page.$eval("#text", (field) => field.selectionStart), 8);
      },
      { ignoresErrors: true },
    );
  } finally {
    before.clear();
  }
});
