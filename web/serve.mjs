// A server of the page: `node web/serve.mjs [DIRECTORY] [PORT]`. It sends the compressed copies of files, and the page's policy
// with every file. It listens on this machine only.

import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
};

/** The encodings, the best one first, with the extensions of the copies. */
const ENCODINGS = { br: ".br", gzip: ".gz" };

/** The headers and the content for a file of a directory; null if it has none. */
export async function fileOf(directory, name, accepted = "") {
  if (!/^[\w-]+(?:\.[\w-]+)*$/.test(name)) return null;
  const headers = { "content-type": TYPES[extname(name)] ?? "application/octet-stream", vary: "accept-encoding", "cache-control": "no-cache" };
  const words = accepted.split(",").map((word) => word.split(";")[0].trim());
  for (const [encoding, extension] of Object.entries(ENCODINGS)) {
    if (!words.includes(encoding)) continue;
    const content = await contentOf(join(directory, name + extension));
    if (content !== null) return { headers: { ...headers, "content-encoding": encoding, etag: tagOf(content) }, content };
  }
  const content = await contentOf(join(directory, name));
  return content === null ? null : { headers: { ...headers, etag: tagOf(content) }, content };
}

const tagOf = (content) => `"${createHash("sha256").update(content).digest("base64url")}"`;

/** Answers with a file, or that the browser has it. */
export function send(request, response, { headers, content }, more = {}) {
  const isKnown = request.headers["if-none-match"] === headers.etag;
  response.writeHead(isKnown ? 304 : 200, { ...headers, ...more });
  response.end(isKnown || request.method === "HEAD" ? undefined : content);
}

const contentOf = (path) => readFile(path).catch(() => null);

/** The policy in the page, for the headers of all files: browsers do not apply that of a page to scripts of workers. */
async function policyOf(directory) {
  const page = await readFile(join(directory, "index.html"), "utf8");
  return /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? "default-src 'self'";
}

async function serve(directory = "target/web", port = "8000") {
  const policy = await policyOf(directory);
  const server = createServer(async (request, response) => {
    const name = new URL(request.url, "http://localhost").pathname.slice(1) || "index.html";
    const file = ["GET", "HEAD"].includes(request.method) ? await fileOf(directory, name, request.headers["accept-encoding"]) : null;
    if (file === null) return response.writeHead(404).end();
    send(request, response, file, { "content-security-policy": policy, "x-content-type-options": "nosniff" });
  });
  server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) serve(...process.argv.slice(2));
