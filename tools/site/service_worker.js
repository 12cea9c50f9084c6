/** Keeps the whole site, so that it plays without a network; a new version replaces the one before. */

const OWN = `patchwork-${self.registration.scope} `; // other copies of the site may share the origin
const VERSION = `${OWN}{version}`;
const FILES = ["{files}"];

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(VERSION)
      .then((kept) => kept.addAll(FILES.map((file) => new Request(file, { cache: "reload" }))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(forgetOthers().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(kept(event.request));
});

async function forgetOthers() {
  const names = await caches.keys();
  const others = names.filter((name) => name.startsWith(OWN) && name !== VERSION);
  await Promise.all(others.map((name) => caches.delete(name)));
}

async function kept(request) {
  const cache = await caches.open(VERSION);
  return (await cache.match(request, { ignoreSearch: true })) ?? fetch(request);
}
