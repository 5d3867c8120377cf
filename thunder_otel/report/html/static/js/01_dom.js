// Elements and numbers. Whatever comes from the recorded program reaches the page as text nodes only.
const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
const svg = (tag, props, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, v] of Object.entries(value)) element.style.setProperty(name, v);
    else if (key === "data") Object.assign(element.dataset, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const $ = (selector, root = document) => root.querySelector(selector);

function show(container, ...children) {
  container.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function seconds(us) {
  if (us === null || us === undefined) return "unfinished";
  const trim = (value) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${trim(us / 1e3)} ms`;
  return `${trim(us / 1e6)} s`;
}

function bytes(count) {
  if (count < 1e3) return `${count} B`;
  return count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
}

const number = (value) => value.toLocaleString("en-US");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

// 12.5 -> "12.5", [256, 1, 1] -> "256, 1, 1", true -> "yes".
function words(value) {
  if (Array.isArray(value)) return value.map(words).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(5)));
  return String(value);
}

const dot = (kind) => h("i", { class: `dot kind-${kindClass(kind)}`, title: kind || "other" });

function kindClass(kind) {
  return ["prologue", "computation", "backward", "epilogue", "joint", "region"].includes(kind) ? kind : "other";
}

const delta = (added, removed) =>
  added === undefined
    ? null
    : h("span", { class: `delta${added || removed ? "" : " none"}` }, h("b", { class: "add" }, `+${added}`), " ", h("b", { class: "del" }, `−${removed}`));

const facts = (pairs, kind = "") =>
  h("dl", { class: `facts ${kind}` }, pairs.filter(Boolean).map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))));

// A column whose title starts with "#" holds numbers. On a phone a table of class "stack" shows a row as a list.
function table(head, rows, props = {}) {
  const names = head.map((name) => name.replace("#", ""));
  for (const row of rows.flat()) for (const [i, cell] of [...row.children].entries()) cell.dataset.label = names[i];
  const title = (name, i) => h("th", { class: name.startsWith("#") ? "num" : null }, names[i]);
  return h("div", { class: "scroll-x" },
    h("table", props, h("thead", {}, h("tr", {}, head.map(title))), h("tbody", {}, rows)));
}

const chip = (label, pressed, onclick, props = {}) =>
  h("button", { class: "chip", type: "button", "aria-pressed": String(pressed), onclick, ...props }, label);

const empty = (message) => h("p", { class: "empty" }, message);
