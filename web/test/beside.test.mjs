// Beside an answer: tests of the filter, steps of a program, what belongs to a syscall, and what names of constants mean.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MACHINE, answered, callgate, fills, ready, scratchFile, selects, shows, value, withPage } from "./harness.mjs";

const KAFEL = "ALLOW {\n  read, write,\n  socket(family) { family == AF_UNIX || family == AF_INET }\n} DEFAULT ERRNO(38)\n";
const TESTS = "read = allow\nsocket(AF_ALG) = deny\nsocket = allow\n";

/** Opens the tests, and replaces them. */
async function tests(page, text) {
  await page.evaluate(() => (document.getElementById("tests-field").open = true));
  return fills(page, "tests", text);
}

/** The texts in the editor of the tests with a style. */
const styled = (page, style) => page.locator(`#tests .${style}`).allTextContents();

test("tests are green or red while one types, and say what the filter does", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    assert.equal(await page.isVisible("#tests-status"), false);
    const status = await tests(page, TESTS);
    assert.match(status, /1 of 3 tests fails\.$/);
    assert.equal(await page.textContent("#tests-status"), "1 of 3 tests fails.");
    assert.deepEqual([(await styled(page, "cm-passes")).length, (await styled(page, "cm-fails")).length], [2, 1]);
    assert.deepEqual(await styled(page, "cm-mark-fails"), ["✗"]);
    assert.deepEqual(await styled(page, "cm-result"), ["ALLOW", "ERRNO(ENOSYS)", `ERRNO(ENOSYS) for ${MACHINE} socket(), otherwise ALLOW`]);
    assert.match(await page.textContent("#tests-body"), /socket = allow: ERRNO\(ENOSYS\) for/);
    // The filter changes, and the tests follow it.
    assert.match(await fills(page, "text", "ALLOW { read, socket } DEFAULT KILL\n"), /1 of 3 tests fails/);
    assert.deepEqual(await styled(page, "cm-result"), ["ALLOW", `ALLOW for ${MACHINE} socket(AF_ALG)`, "ALLOW"]);
    // A place leads to the line, and one that is wrong has a reason.
    await tests(page, "read = allow\nraed = allow\n");
    await page.click("#tests-body .place");
    assert.deepEqual(await page.evaluate(() => [document.activeElement.id, document.activeElement.line]), ["tests", 2]);
    assert.match(await page.textContent("#tests-body"), /no syscall "raed"[\s\S]*did you mean "read"/);
    await tests(page, "read = allow\n");
    assert.equal(await page.textContent("#tests-status"), "1 test passes.");
  }));

test("tests are kept in the link and the draft, and do not stay with another filter than the example's", () =>
  withPage(async (page) => {
    assert.match(await value(page, "tests"), /ptrace = EPERM/);
    assert.match(await page.textContent("#tests-status"), /1 of 4 tests fails/);
    await shows(page, KAFEL);
    assert.equal(await value(page, "tests"), "");
    await tests(page, TESTS);
    await page.click("#share");
    await page.waitForFunction(() => location.hash.startsWith("#v1="));
    await page.waitForFunction(() => Object.values(localStorage).some((text) => text.includes("AF_ALG")));
    const fragment = await page.evaluate(() => location.hash);
    await page.evaluate(() => history.replaceState(null, "", "#"));
    await page.reload();
    await ready(page);
    assert.equal(await value(page, "tests"), TESTS);
    await tests(page, "");
    await answered(page, () => page.evaluate((own) => (location.hash = own), fragment));
    assert.equal(await value(page, "tests"), TESTS);
    assert.match(await page.textContent("#tests-status"), /1 of 3/);
  }));

test("a mistake in the filter leaves the tests undecided", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    await tests(page, TESTS);
    await shows(page, "ALLOW { raed } DEFAULT KILL");
    assert.equal(await page.textContent("#tests-status"), "not checked");
    assert.deepEqual(await styled(page, "cm-result"), []);
  }));

test("a program is executed step by step, with the registers of the command", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    await selects(page, "simulate");
    await answered(page, () => page.fill("#call", "socket(AF_ALG)"));
    const path = scratchFile("steps.kafel", KAFEL);
    const { trace } = JSON.parse(await callgate("simulate", "--trace", "--format", "json", path, "socket", "AF_ALG"));
    const rows = await page.$$eval("#steps .steps tr", (all) => all.slice(1).map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
    assert.equal(rows.length, trace.length);
    trace.forEach(({ index }, at) => assert.ok(rows[at][1].replace(/^L/, "").startsWith(String(index)), `${rows[at][1]}, not ${index}`));
    // A row has the registers after its instruction: those before the next one.
    assert.deepEqual(rows.slice(0, -1).map((row) => row[4]), trace.slice(1).map(({ a }) => `0x${a.toString(16)}`));
    const now = () => page.textContent("#steps .now");
    const current = () => page.$eval("#steps tr[aria-current=step]", (row) => row.cells[0].textContent);
    assert.match(await now(), /^Step 1 of \d+: Loads /);
    await page.click("#steps button:has-text('Next')");
    assert.equal(await current(), "2");
    await page.focus("#steps .wide");
    await page.keyboard.press("ArrowDown");
    assert.equal(await current(), "3");
    await page.keyboard.press("ArrowUp");
    assert.equal(await current(), "2");
    await page.keyboard.press("End");
    assert.match(await now(), /Returns ERRNO\(ENOSYS\)/);
    assert.equal(await page.getAttribute("#steps button:has-text('Next')", "aria-disabled"), "true");
    await page.click("#steps button:has-text('First')");
    assert.equal(await current(), "1");
    // The condition leads to the rule.
    await page.locator("#steps td .place").first().click();
    assert.equal(await page.evaluate(() => document.activeElement.id), "text");
  }));

test("a square lights its instructions, and the caret and an instruction their squares", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    const lit = () => page.$$eval("#map g.sq.lit", (all) => all.map((square) => square.getAttribute("aria-label").split(" ")[0]));
    const rows = () => page.$$eval("#program .line.lit", (all) => all.length);
    await page.locator("#map g.sq[aria-label^='socket (']").first().click();
    await page.waitForFunction(() => document.activeElement.id === "text");
    assert.deepEqual(await lit(), ["socket"]);
    const ofSocket = await rows();
    assert.ok(ofSocket > 3, String(ofSocket));
    assert.equal(await page.$eval("#program .listing", (details) => details.open), true);
    assert.match(await page.textContent("#map .lit-note"), /^socket on \w+ executes up to \d+ of \d+ instructions/);
    // From the text to the map.
    await page.evaluate(() => {
      const field = document.getElementById("text");
      field.setSelectionRange(field.value.indexOf("write"), field.value.indexOf("write"));
    });
    assert.deepEqual(await lit(), ["write"]);
    assert.match(await page.textContent("#map .lit-note"), /^At the caret: write\./);
    assert.ok((await rows()) > 0 && (await rows()) < ofSocket);
    // From the program to the map, by keys.
    await page.focus("#program .listing .code");
    await page.keyboard.press("Home");
    assert.ok((await lit()).length > 100, "every syscall executes the first instruction");
    await page.keyboard.press("End");
    assert.equal(await rows(), 1);
    assert.match(await page.textContent("#program .lit-note"), /^Instruction \d+ is executed by /);
    // A program as text: the caret is at an instruction.
    await shows(page, "ld [4]\njeq #0xc000003e, ours, bad\nours: ld [0]\njeq #1, good, bad\ngood: ret #0x7fff0000\nbad: ret #0\n");
    await page.evaluate(() => {
      const field = document.getElementById("text");
      field.setSelectionRange(field.value.indexOf("good: ret"), field.value.indexOf("good: ret"));
    });
    assert.match(await page.textContent("#map .lit-note"), /^Instruction 4 is executed by write\./);
    assert.deepEqual(await lit(), ["write"]);
  }));

test("a constant says its value, its use and its manual page", () =>
  withPage(async (page) => {
    await shows(page, "ALLOW { socket(f) { f == AF_INET } } DEFAULT KILL\n");
    const tip = page.locator("#text .about-syscall");
    const place = await page.locator("#text .cm-line", { hasText: "AF_INET" }).evaluate((line) => {
      const range = document.createRange();
      const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const at = node.data.indexOf("AF_INET");
        if (at < 0) continue;
        range.setStart(node, at);
        range.setEnd(node, at + 7);
        const { left, top, width, height } = range.getBoundingClientRect();
        return [left + width / 2, top + height / 2];
      }
      return null;
    });
    await page.mouse.move(...place);
    await tip.waitFor();
    const text = await tip.textContent();
    assert.match(text, /AF_INET = 2/);
    assert.match(text, /family of socket/);
    assert.match(text, /man 2 socket/);
  }));

test("names of constants are completed in tests", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    await tests(page, "socket(");
    await page.focus("#tests");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("AF_AL", { delay: 20 });
    await page.locator("#tests .cm-tooltip-autocomplete li").first().waitFor();
    assert.match(await page.locator("#tests .cm-tooltip-autocomplete li").first().textContent(), /^AF_ALG/);
  }));

test("runtime, libseccomp and newer syscalls are read as the command reads them", () =>
  withPage(async (page) => {
    const profile = '{"defaultAction": "SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": [{"names": ["read", "futex_wait"], "action": "SCMP_ACT_ALLOW"}]}\n';
    const path = scratchFile("runtime.json", profile);
    await shows(page, profile);
    await page.evaluate(() => (document.getElementById("options").open = true));
    await selects(page, "simulate");
    await answered(page, () => page.fill("#call", "futex_wait"));
    const cases = [
      ["runtime", "runc 1.1.12", ["--runc", "1.1.12"]],
      ["runtime", "1.1.12", ["--runc", "1.1.12"]],
      ["runtime", "crun", ["--crun"]],
      ["libseccomp", "2.5.3", ["--libseccomp", "2.5.3"]],
    ];
    for (const [id, given, options] of cases) {
      const status = await answered(page, () => page.fill(`#${id}`, given));
      const { verdict } = JSON.parse(await callgate("simulate", "--kernel", "6.18", "--format", "json", ...options, path, "futex_wait"));
      assert.ok(status.endsWith(`: ${verdict}`), `${options}: ${status}, not ${verdict}`);
      await answered(page, () => page.fill(`#${id}`, ""));
    }
    await answered(page, () => page.fill("#call", "9999"));
    for (const how of ["on", "off"]) {
      const status = await answered(page, () => page.selectOption("#enosys", how));
      const { verdict } = JSON.parse(await callgate("simulate", "--kernel", "6.18", "--format", "json", "--enosys-above", how, path, "9999"));
      assert.ok(status.endsWith(`: ${verdict}`), `${how}: ${status}, not ${verdict}`);
    }
    const wrong = await answered(page, () => page.fill("#runtime", "runc 9"));
    assert.match(wrong, /not a known version of runc/);
  }));
