// Keeps the files of the page, so that it works without a network. `web/build.mjs` sets the version and the names.

const VERSION = "development";
const FILES = [/* files */];
// Pages on one origin share its caches.
const OWN = `callgate ${registration.scope} `;
const NAME = `${OWN}${VERSION}`;

addEventListener("install", (event) => {
  const store = async () => {
    const cache = await caches.open(NAME);
    // Asks the server about each file, which need not send again what the page has just loaded.
    await cache.addAll(["./", ...FILES].map((file) => new Request(file, { cache: "no-cache" })));
  };
  event.waitUntil(store());
});

addEventListener("activate", (event) => {
  const clean = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith(OWN) && name !== NAME);
    await Promise.all(old.map((name) => caches.delete(name)));
    await clients.claim();
  };
  event.waitUntil(clean());
});

// Only files of this page are answered, from what was kept. A new version waits until no page with the old one is open, so
// that each page has files of one version.
addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(registration.scope)) return;
  const answer = async () => {
    const cache = await caches.open(NAME);
    return (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  };
  event.respondWith(answer());
});
