// The page says what the command says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readFile } from "node:fs/promises";
import { MACHINE, PROFILE, answered, callgate, fills, opens, scratchFile, selects, shows, withPage } from "./harness.mjs";

const KERNEL = ["--kernel", "6.18"];
const KAFEL = `POLICY p { ALLOW { read, write, socket(family) { family == AF_UNIX || family == AF_INET },
  mmap(addr, len, prot) { (prot & 4) == 0 } }, ERRNO(13) { openat } } USE p DEFAULT KILL\n`;

/** What the map says: per architecture, the text for each "name (number)". */
const map = (page) =>
  page.$$eval("#map > details", (all) =>
    all.map((details) => {
      const titles = [...details.querySelectorAll("svg g > title")].map((title) => title.textContent);
      const entries = titles.map((title) => title.match(/^(.*? \(\d+\)): (.*)$/s).slice(1));
      return [details.querySelector("summary").textContent.split(":")[0], Object.fromEntries(entries)];
    }),
  );

/** What a tooltip must begin with for an outcome of `explain --format json`. */
function verdicts(outcome) {
  if (outcome.kind === "always") return [outcome.always.verdict];
  if (outcome.kind === "complex") return outcome.verdicts.map(({ verdict }) => verdict);
  return [...outcome.clauses.map((clause) => `${clause.then.verdict} if `), `else ${outcome.otherwise.verdict}`];
}

async function compareExplanation(page, path) {
  const { arches } = JSON.parse(await callgate("explain", "--format", "json", ...KERNEL, path));
  const shown = Object.fromEntries(await map(page));
  assert.deepEqual(Object.keys(shown), arches.map(({ arch }) => arch).slice(0, 4));
  let count = 0;
  for (const { arch, groups } of arches.slice(0, 4)) {
    let known = 0;
    for (const { outcome, calls } of groups) {
      for (const { nr, name } of calls) {
        const text = shown[arch][`${name} (${nr})`];
        const place = `${arch} ${name}: ${text}`;
        assert.ok(text !== undefined, place);
        const parts = text.split("; ");
        const expected = verdicts(outcome);
        if (outcome.kind === "complex") assert.ok(expected.every((verdict) => text.includes(verdict)), place);
        else if (outcome.kind === "always") assert.equal(text, expected[0], place);
        else {
          // A tooltip has at most six lines.
          assert.equal(parts.length, expected.length > 6 ? 7 : expected.length, place);
          parts.slice(0, 6).forEach((part, at) => assert.ok(part.startsWith(expected[at]), place));
        }
        known += 1;
      }
    }
    assert.equal(Object.keys(shown[arch]).length, known, arch);
    count += known;
  }
  return count;
}

test("every syscall of a profile has the verdict that the command gives it", () =>
  withPage(async (page) => {
    await opens(page, PROFILE);
    assert.ok((await compareExplanation(page, PROFILE)) > 300);
  }));

test("a pasted policy has the verdicts of the command", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    await compareExplanation(page, scratchFile("pasted.kafel", KAFEL));
  }));

test("size and mean cost are those of the command", () =>
  withPage(async (page) => {
    await opens(page, PROFILE);
    const output = scratchFile("out.bpf", "");
    const stats = JSON.parse(await callgate("compile", "--stats", "--format", "json", ...KERNEL, "-o", output, PROFILE));
    const head = await page.textContent("#head");
    assert.ok(head.includes(`${stats.insns} instructions, proved`), head);
    assert.ok(head.includes(`${stats.expected_insns.toFixed(2)} instructions`), head);
  }));

test("findings are those of lint, and their places select the text", () =>
  withPage(async (page) => {
    await opens(page, PROFILE);
    await selects(page, "findings");
    const shown = await page.$$eval("#body .findings > li", (all) =>
      all.map((item) => [item.querySelector("code.quiet").textContent, item.querySelector(".position")?.textContent.split(":").slice(1).join(":") ?? null]),
    );
    const { sources } = JSON.parse(await callgate("lint", "--format", "json", "--level", "note", ...KERNEL, PROFILE));
    const expected = sources[0].findings.map(({ id, line, column }) => [id, line === undefined ? null : `${line}:${column}`]);
    assert.ok(expected.length > 0);
    assert.deepEqual(shown.map(String).sort(), expected.map(String).sort());
    const place = page.locator("#body .place").first();
    const [line, column] = (await place.textContent()).split(":").slice(-2).map(Number);
    await place.click();
    const selected = await page.$eval("#text", (field) => [document.activeElement === field, field.selectionStart]);
    const lines = (await readFile(PROFILE, "utf8")).split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0) + column - 1;
    assert.deepEqual(selected, [true, start]);
  }));

test("a comparison says which filter is stricter, as subset does", () =>
  withPage(async (page) => {
    const strict = KAFEL.replace("read, write", "read");
    const [a, b] = [scratchFile("a.kafel", KAFEL), scratchFile("b.kafel", strict)];
    const subset = JSON.parse(await callgate("subset", "--format", "json", b, a));
    assert.equal(subset.subset, true);
    await shows(page, strict);
    await selects(page, "compare");
    const stricter = await fills(page, "before", KAFEL);
    assert.match(stricter, /^Stricter/);
    assert.match(await page.textContent("#comparison"), /Removed: no longer allowed \(1 syscall\)/);
    const laxer = await answered(page, () => page.click("#swap"));
    assert.match(laxer, /^Less strict/);
    const same = await fills(page, "before", KAFEL);
    assert.match(same, /same/);
  }));

test("a conversion writes what the command writes", () =>
  withPage(async (page) => {
    const path = scratchFile("from.kafel", KAFEL);
    await shows(page, KAFEL);
    await selects(page, "convert");
    for (const target of ["oci", "podman", "k8s", "kafel", "minijail"]) {
      await answered(page, () => page.selectOption("#to", target));
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
      const written = await readFile(await download.path(), "utf8");
      assert.equal(written, await callgate("convert", ...KERNEL, "--to", target, path), target);
    }
    await answered(page, () => page.selectOption("#to", "systemd"));
    assert.ok(await page.isDisabled("#save"));
    assert.match(await page.textContent("#body"), /cannot express/);
    await answered(page, () => page.check("#closest"));
    assert.match(await page.textContent("#body"), /SystemCallFilter=/);
    for (const [target, part] of [["c", "BPF_STMT"], ["rust", "sock_filter"], ["go", "unix.SockFilter"], ["asm", "ret "]]) {
      await answered(page, () => page.selectOption("#to", target));
      assert.ok((await page.textContent("#body")).includes(part), target);
    }
  }));

test("a simulated syscall has the verdict of the command", () =>
  withPage(async (page) => {
    await shows(page, KAFEL);
    await selects(page, "simulate");
    const path = scratchFile("simulated.kafel", KAFEL);
    for (const [call, ...args] of [["socket", "AF_INET"], ["socket", "AF_NETLINK"], ["openat"], ["mmap", "0", "4096", "5"], ["reboot"]]) {
      const status = await answered(page, () => page.fill("#call", `${call}(${args.join(", ")})`));
      const { verdict } = JSON.parse(await callgate("simulate", "--format", "json", path, call, ...args));
      assert.ok(status.endsWith(`: ${verdict}`), `${status}, not ${verdict}`);
    }
    const wrong = await answered(page, () => page.fill("#call", "opneat"));
    assert.match(wrong, /no syscall/);
  }));

test("all examples have all answers", () =>
  withPage(async (page) => {
    for (const example of await page.$$("#examples button")) {
      const own = await answered(page, () => example.click());
      assert.ok(!/^(?:Error|\d+ errors)/.test(own), own);
      assert.notEqual(await page.textContent("#lesson"), "");
      for (const view of ["findings", "program", "convert", "explanation"]) {
        const status = await selects(page, view);
        assert.ok(!/^(?:Error|\d+ errors)/.test(status), status);
        assert.ok((await page.$$("#body section")).length > 0, view);
      }
    }
  }));

// The time depends on the machine and its load, so it is only shown.
test("an answer comes soon after the last key", () =>
  withPage(async (page) => {
    await opens(page, PROFILE);
    const times = [];
    for (let round = 0; round < 12; round++) {
      const time = await page.evaluate(
        () =>
          new Promise((resolve, reject) => {
            setTimeout(() => reject(new Error("no answer")), 60_000);
            const [text, body] = [document.getElementById("text"), document.getElementById("body")];
            const start = performance.now();
            const observer = new MutationObserver(() => {
              observer.disconnect();
              // After the next frame was drawn.
              requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
            });
            observer.observe(body, { childList: true });
            text.value += " ";
            text.dispatchEvent(new Event("input"));
          }),
      );
      times.push(time);
    }
    times.sort((a, b) => a - b);
    const median = times[times.length / 2];
    console.log(`from the last key press to the drawn answer (${MACHINE}): median ${median.toFixed(0)} ms, maximum ${times.at(-1).toFixed(0)} ms`);
  }));
