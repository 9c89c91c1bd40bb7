// Completes the directory of the page: `node web/build.mjs DIRECTORY [--quick] [--without-editor]`.
//
// `cargo xtask web` has written the files of the page and the module there. This adds what needs the module or npm: the lists
// of names and the answer to the first example, which the module itself writes, the editor, the scripts in one file each, which a
// slow network brings sooner, the module in two parts, the service worker, and each file compressed, for servers that can send it so.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { counting, split } from "./split.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));

/** The largest size of the editor, compressed. */
const MAX_EDITOR = 180_000;

const [directory, ...options] = process.argv.slice(2);
const read = (name) => readFileSync(join(directory, name), "utf8");
const write = (name, content) => writeFileSync(join(directory, name), content);

/** Replaces a text that must be there once. */
function replaced(content, old, text, where) {
  if (content.split(old).length !== 2) throw new Error(`${where} must have \`${old}\` once`);
  return content.replace(old, () => text);
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** The answers of the module that are the same for everybody. */
async function prerender() {
  const { Callgate } = await import("../bindings/js/index.js");
  const { EXAMPLES } = await import("./examples.js");
  const callgate = new Callgate(new WebAssembly.Module(readFileSync(join(directory, "callgate.wasm"))));
  const ask = (request) => JSON.parse(callgate.answer(JSON.stringify(request)));
  const about = ask({ view: "about" });
  write("about.json", JSON.stringify(about));
  write("constants.json", JSON.stringify(ask({ view: "constants" })));
  const [{ state, lesson }] = EXAMPLES;
  const source = { text: state.text, name: state.name, machine: "x86_64", kernel: "6.18", systemd: about.systemd_version };
  const answer = ask({ view: state.view, source });
  if (!answer.ok || answer.messages !== "") throw new Error(`the first example has errors: ${answer.status}`);
  let page = read("index.html");
  const put = (old, text) => (page = replaced(page, old, text, "index.html"));
  put('<div id="head"></div>', `<div id="head">${answer.head}</div>`);
  put('<p id="note" class="quiet">Loading…</p>', '<p id="note" class="quiet" hidden></p>');
  put('<div id="body"></div>', `<div id="body">${answer.body}</div>`);
  put('<p id="lesson" class="lesson"></p>', `<p id="lesson" class="lesson">${escaped(lesson)}</p>`);
  page = page.replace(/(<textarea id="text"[^>]*>)(<\/textarea>)/, (_, start, end) => `${start}\n${escaped(state.text)}${end}`);
  if (!page.includes(escaped(state.text))) throw new Error("index.html has no field for the first example");
  const modules = bundled ? [] : imported("main.js").map((name) => `<link rel="modulepreload" href="${name}">`);
  put("<!-- modules -->\n", modules.map((line) => `${line}\n`).join(""));
  write("index.html", page);
}

/** The modules that a module imports at once, and that these import. */
function imported(name, found = []) {
  for (const [, other] of read(name).matchAll(/^import [^"]*"\.\/([\w.]+)";$/gm)) {
    if (found.includes(other)) continue;
    found.push(other);
    imported(other, found);
  }
  return found;
}

/** Puts the modules of the page into one file, and those of its worker into another. */
async function bundleScripts() {
  const { build } = await import("esbuild");
  const parts = new Set([...imported("main.js"), ...imported("worker.js")]);
  for (const name of ["main.js", "worker.js"]) {
    const path = join(directory, name);
    const { outputFiles } = await build({
      entryPoints: [path], bundle: true, external: ["./editor.js"], write: false, minifyWhitespace: true, format: "esm", target: "es2022",
      legalComments: "none", logLevel: "warning",
    });
    write(name, outputFiles[0].contents);
  }
  for (const name of parts) rmSync(join(directory, name));
}

/** Bundles the editor; returns the packages in it. */
async function bundle() {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: [join(HERE, "editor/index.js")],
    outfile: join(directory, "editor.js"),
    bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", metafile: true, logLevel: "warning",
  });
  const size = gzipSync(readFileSync(join(directory, "editor.js")), { level: 9 }).length;
  if (size > MAX_EDITOR) throw new Error(`the editor has ${size} bytes compressed, the maximum is ${MAX_EDITOR}`);
  const names = Object.keys(result.metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(names.filter(Boolean))].sort();
}

/** The size in bytes up to which a function is in the first part, even if usual requests do not execute it. */
const SHORT = 64;

/** Divides the module: what answers the usual requests is in callgate.wasm, which the page waits for, the other functions in rest.wasm. */
async function divide() {
  const { Callgate } = await import("../bindings/js/index.js");
  const { usual } = await import("./usual.mjs");
  const bytes = readFileSync(join(directory, "callgate.wasm"));
  const counted = counting(bytes);
  const [module, used] = [new WebAssembly.Module(counted.bytes), new Set()];
  const requests = usual(JSON.parse(read("about.json")).systemd_version);
  let answers = 0;
  for (const request of requests) {
    let instance;
    const text = new Callgate(module, 0, () => (instance = new WebAssembly.Instance(module))).answer(request);
    answers += JSON.parse(text).ok;
    for (let number = 0; number < counted.count; number++) if (instance.exports[`ran${number}`].value === 1) used.add(number);
  }
  if (answers < requests.length / 2) throw new Error(`the module answers ${answers} of ${requests.length} usual requests`);
  // A short function is hardly longer than the call to the other part.
  const { first, second } = split(bytes, (number, size) => used.has(number) || size <= SHORT);
  write("callgate.wasm", first);
  write("rest.wasm", second);
}

/** The licences of what the page contains. */
function notices(packages) {
  const parts = packages.map((name) => {
    const root = join(HERE, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const file = readdirSync(root).find((own) => /^licen[cs]e/i.test(own));
    if (license !== "MIT" || file === undefined) throw new Error(`${name}: the licence is ${license}, or its text is missing`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(root, file), "utf8").trim()}\n`;
  });
  const own = "Callgate is available under the licences Apache-2.0 or MIT.";
  const rest = parts.length > 0 ? " Its editor, editor.js, contains these packages:" : "";
  return [`${own}${rest}\n`, ...parts].join(`\n${"-".repeat(80)}\n\n`);
}

/** The names of the files of the page, without the service worker and compressed copies. */
function filesOf() {
  return readdirSync(directory).filter((name) => /\.(?:html|css|js|svg|wasm|json|txt)$/.test(name) && name !== "sw.js").sort();
}

/** The service worker, which keeps the files of this version for use without a network. */
function serviceWorker(names) {
  const hash = createHash("sha256");
  for (const name of names) hash.update(name).update("\0").update(readFileSync(join(directory, name)));
  const text = readFileSync(join(HERE, "sw.js"), "utf8");
  const versioned = replaced(text, '"development"', `"${hash.digest("hex").slice(0, 32)}"`, "sw.js");
  write("sw.js", replaced(versioned, "[/* files */]", JSON.stringify(names), "sw.js"));
}

/** Compressed copies beside each file. */
function compress(names) {
  const sizes = [0, 0, 0];
  for (const name of names) {
    const content = readFileSync(join(directory, name));
    // The best quality takes 10 s for the module and saves 3% more.
    const quality = options.includes("--quick") ? 5 : 11;
    const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    const copies = { br: brotliCompressSync(content, { params }), gz: gzipSync(content, { level: 9 }) };
    for (const [extension, bytes] of Object.entries(copies)) write(`${name}.${extension}`, bytes);
    [content, copies.gz, copies.br].forEach((bytes, at) => (sizes[at] += bytes.length));
  }
  return sizes;
}

const hasEditor = !options.includes("--without-editor");
const bundled = hasEditor;
await prerender();
let packages = [];
if (!hasEditor) rmSync(join(directory, "editor.js"), { force: true });
else if (existsSync(join(HERE, "node_modules/esbuild"))) packages = await bundle();
else throw new Error("the editor needs packages of npm: run `npm ci` in web/, or build with --without-editor, which leaves plain fields");
if (bundled) await bundleScripts();
await divide();
write("notices.txt", notices(packages));
const names = filesOf();
serviceWorker(names);
const [raw, gzip, brotli] = compress([...names, "sw.js"]);
console.log(`${directory}: ${names.length + 1} files, ${raw} bytes, ${gzip} with gzip, ${brotli} with Brotli`);
