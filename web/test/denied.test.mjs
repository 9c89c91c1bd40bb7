// Why something was denied: logs, the rule, and a change that is applied with one click.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MACHINE, answered, callgate, fills, noticed, scratchFile, selects, shows, value, withPage } from "./harness.mjs";

const POLICY = "ALLOW {\n  read, write\n}\nDEFAULT KILL\n";
const NR = { x86_64: [165, "c000003e"], aarch64: [40, "c00000b7"] }[MACHINE];
const RECORD = `type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm="nginx" exe="/usr/bin/nginx" sig=31 arch=${NR[1]} syscall=${NR[0]} compat=0 ip=0x7f code=0x0\n`;
const STRACE = `7 unshare(CLONE_NEWUSER) = -1 EPERM (Operation not permitted)\n7 getpid() = 7\n`;

test("a record names the syscall, its purpose and its danger, also without a filter", () =>
  withPage(async (page) => {
    await page.click("#clear");
    await chooses(page, "denied");
    const status = await fills(page, "log", RECORD);
    assert.equal(status, "1 denied syscall in the log.");
    const body = await page.textContent("#body");
    assert.match(body, /mount/);
    assert.match(body, /Denied once to nginx/);
    assert.match(body, /dangerous/);
    assert.match(body, /Paste the filter/);
  }));

/** Without a text, there is no answer to wait for. */
const chooses = (page, view) => page.click(`#tab-${view}`);

test("the change of the page is that of the command, and Apply and Undo work", () =>
  withPage(async (page) => {
    await shows(page, POLICY);
    await selects(page, "denied");
    await fills(page, "log", RECORD);
    assert.match(await page.textContent("#body"), /This filter returns KILL_THREAD/);
    assert.match(await page.textContent("#body"), /default action decides, at filter:4:/);
    const shown = await page.$$eval("#body .code .line", (lines) => lines.map((line) => line.textContent).filter((line) => /^[+-][^+-]/.test(line)));
    const [path, patch] = [scratchFile("filter.kafel", POLICY), scratchFile("change.patch", "")];
    const output = await callgate("why", path, "--from", scratchFile("log.txt", RECORD), "--patch", patch);
    assert.match(output.replace(/\s+/g, " "), /proved to allow mount with all arguments and nothing else/);
    for (const line of shown) assert.ok(output.includes(line), line);
    const status = await answered(page, () => page.click("#body .apply"));
    assert.equal(status, "1 denied syscall in the log.");
    assert.match(await page.textContent("#body"), /This filter allows it/);
    assert.match(await value(page), /mount/);
    await answered(page, () => page.click("#undo"));
    assert.equal(await value(page), POLICY);
  }));

test("a pasted log goes to its field", () =>
  withPage(async (page) => {
    for (const text of [RECORD, STRACE]) {
      await answered(page, async () => {
        await page.evaluate((text) => {
          const field = document.getElementById("text");
          field.value = text;
          field.dispatchEvent(new Event("input"));
        }, text);
      });
      await noticed(page, /This is a log/);
      assert.equal(await page.getAttribute("#tab-denied", "aria-selected"), "true");
      assert.equal(await value(page, "log"), text);
      assert.equal(await value(page), "");
      await page.evaluate(() => (document.getElementById("notice").textContent = ""));
      await page.click("#tab-explanation");
    }
  }));

test("a failed syscall of strace is perhaps denied, with the kernel's own reasons", () =>
  withPage(async (page) => {
    await page.click("#clear");
    await chooses(page, "denied");
    await fills(page, "log", STRACE);
    const body = await page.textContent("#body");
    assert.match(body, /Perhaps denied by a filter/);
    assert.match(body, /unshare[\s\S]*ERRNO\(EPERM\)/);
    assert.match(body, /may also come from a missing capability CAP_SYS_ADMIN/);
  }));

test("a message without a syscall goes to the same field, and has what to paste instead", () =>
  withPage(async (page) => {
    await shows(page, "app.service: Main process exited, code=killed, status=31/SYS\n");
    assert.equal(await page.getAttribute("#tab-denied", "aria-selected"), "true");
    assert.match(await page.textContent("#body"), /journalctl -k --grep type=1326/);
  }));

test("a profile that a message names is one click away, and Undo brings the text back", () =>
  withPage(async (page) => {
    const text = "services:\n  web:\n    image: nginx\n";
    await shows(page, text);
    assert.match(await page.textContent("#messages"), /the service web has the default profile/);
    const status = await answered(page, () => page.click("#messages [data-source=docker-default]"));
    assert.match(status, /^Allows: 3\d\d of/);
    assert.equal(await value(page), "docker-default\n");
    await answered(page, () => page.click("#undo"));
    assert.equal(await value(page), text);
  }));

test("a text that is no log has a sentence", () =>
  withPage(async (page) => {
    await shows(page, POLICY);
    await selects(page, "denied");
    assert.match(await page.textContent("#note"), /Paste a line of a log/);
    assert.match(await fills(page, "log", "hello\nworld\n"), /Nothing was recognized/);
  }));
