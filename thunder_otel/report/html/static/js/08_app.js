// Where the reader is (kept in the address, so that "back" works and a place can be linked), and the frame around it.
const tabs = []; // {id, title, key, count(), render(container, place)}, in the order of the files that add them
const main = $("#view");

function placeNow() {
  const [view, query] = location.hash.replace(/^#/, "").split("?");
  const place = Object.fromEntries(new URLSearchParams(query ?? ""));
  place.view = tabs.some((tab) => tab.id === view) ? view : "summary";
  return place;
}

function address(place) {
  const { view, ...rest } = place;
  for (const key of Object.keys(rest)) if (rest[key] === undefined || rest[key] === "") delete rest[key];
  const query = new URLSearchParams(rest).toString();
  return `#${view}${query ? `?${query}` : ""}`;
}

const go = (place) => (location.hash = address(place));
const change = (part) => go({ ...placeNow(), ...part });
const link = (place, ...children) => h("a", { href: address(place) }, ...children);

const compileName = (compile) => `${compile.fn}/${compile.compile_index ?? 0}`;
const compileNumber = (compile) => allCompiles.indexOf(compile);
const compileAt = (place) => allCompiles[Number(place.c ?? 0)] ?? allCompiles[0] ?? null;

// The place that shows a stage best.
function placeOf(stage) {
  const c = stage.compile ? compileNumber(stage.compile) : 0;
  if (stage.role === "kernel") return { view: "kernels", c, k: stage.at };
  if (stage.role === "graph" || stage.role === "graph_step") return { view: "graphs" };
  if (stage.torch?.texts.length) return torchPlace(stage, stage.torch.texts[0].text);
  if (stage.role === "region" && stage.region) return { view: "regions", c, s: stage.at };
  if (stage.role === "compile") return { view: "passes", c };
  if (!stage.compile || stage.index === undefined) return { view: "timeline", s: `${stage.run.at}.${stage.at}` };
  const view = viewsOf(stage.compile).find((one) => one.stage === stage);
  return { view: "passes", c, v: view?.at };
}

// Choosers of rank and compile, shared by the views that show one compile.
function compileChooser(place) {
  const compile = compileAt(place);
  if (!compile) return null;
  const keep = (part) => ({ view: place.view, m: place.m, ...part });
  const ranks =
    report.runs.length > 1 &&
    h("label", {}, "rank ", h("select", {
      id: "rank",
      onchange: (event) => {
        const run = report.runs[event.target.value];
        const same = run.compiles.find((one) => compileName(one) === compileName(compile)) ?? run.compiles[0];
        if (same) go(keep({ ...place, c: compileNumber(same), k: undefined, s: undefined }));
      },
    }, report.runs.map((run) => h("option", { value: run.at, selected: run === compile.run }, run.label))));
  const compiles = h("label", {}, "compile ", h("select", {
    id: "compile",
    onchange: (event) => go(keep({ c: event.target.value })),
  }, compile.run.compiles.map((one) =>
    h("option", { value: compileNumber(one), selected: one === compile }, `${compileName(one)} · ${seconds(one.took)}`))));
  return h("div", { class: "choosers" }, ranks, compiles);
}

let drawn = null;
async function draw() {
  const place = placeNow();
  const started = performance.now();
  for (const tab of document.querySelectorAll("#tabs a"))
    tab.setAttribute("aria-current", tab.dataset.id === place.view ? "page" : "false");
  $("#tabs [aria-current=page]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  $("#summary").hidden = place.view !== "summary";
  main.hidden = place.view === "summary";
  closeCard();
  const turn = (drawn = {});
  const tab = tabs.find((one) => one.id === place.view);
  document.title = place.view === "summary" ? report.title : `${tab.title} · ${report.title}`;
  main.dataset.drawn = "";
  await tab.render?.(main, place, () => turn === drawn);
  if (turn !== drawn) return;
  main.dataset.took = (performance.now() - started).toFixed(1);
  main.dataset.drawn = address(place);
}

// The card at the side: what is known of the thing that was clicked.
const card = $("#card");
function openCard(title, ...content) {
  show(card,
    h("header", {}, h("h2", {}, title), h("button", { type: "button", "aria-label": "close", onclick: closeCard }, "×")),
    content);
  card.hidden = false;
  document.body.classList.add("with-card");
}
function closeCard() {
  card.hidden = true;
  document.body.classList.remove("with-card");
}

function start() {
  show($("#tabs"), tabs.map((tab) => {
    const count = tab.count?.();
    return h("a", { href: `#${tab.id}`, data: { id: tab.id }, title: `${tab.title} (g ${tab.key})` },
      tab.title, count ? h("span", { class: "count" }, number(count)) : null);
  }));
  const theme = $("#theme");
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("thunder-otel-theme", root.dataset.theme);
    } catch {
      // a browser may refuse storage to a page from disk: then the choice lasts as long as the page
    }
  });
  addEventListener("hashchange", draw);
  draw();
}

tabs.push({ id: "summary", title: "Summary", key: "s" });
