/** Runs first: sets colours and language of what is shown while the page loads. */

import { preferredLanguage, writeDirection } from "./language.js";
import { recall } from "./storage.js";

const code = preferredLanguage(new URLSearchParams(location.search).get("lang"), recall("language"));
const theme = recall("theme");
if (theme) document.documentElement.dataset.theme = theme;
writeDirection(code);
document.querySelector(".status-turn").textContent = JSON.parse(
  document.querySelector("#loading").textContent,
)[code];
if (code !== "en") {
  const words = { rel: "preload", as: "fetch", crossOrigin: "anonymous", href: `languages/${code}.json` };
  document.head.append(Object.assign(document.createElement("link"), words));
}
