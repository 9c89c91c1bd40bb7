// Keeps the files of the page, so that it works without a network. `cargo xtask web` sets the version and the names.

const VERSION = "development";
const FILES = [/* files */];
const NAME = `callgate ${VERSION}`;

addEventListener("install", (event) => {
  const store = async () => {
    const cache = await caches.open(NAME);
    await cache.addAll(["./", ...FILES].map((file) => new Request(file, { cache: "reload" })));
    await skipWaiting();
  };
  event.waitUntil(store());
});

addEventListener("activate", (event) => {
  const clean = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith("callgate ") && name !== NAME);
    await Promise.all(old.map((name) => caches.delete(name)));
    await clients.claim();
  };
  event.waitUntil(clean());
});

// Only files of this page are answered, and only from what was kept: all of one version.
addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(registration.scope)) return;
  const answer = async () => {
    const cache = await caches.open(NAME);
    return (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  };
  event.respondWith(answer());
});
