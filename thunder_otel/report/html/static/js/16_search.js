// Search over names, attributes and every text. Names are found at once, texts as they are unpacked.
tabs.push({ id: "search", title: "Search", key: "/", render: renderSearch });
const MAX_HITS = 400;

async function renderSearch(container, place, isCurrent) {
  const box = $("#search");
  const wanted = (place.q ?? "").trim();
  if (box.value !== place.q && document.activeElement !== box) box.value = place.q ?? "";
  if (!wanted) return show(container, h("h2", {}, "Search"), empty("Type a name, an operation, a shape, a file, or any text."));
  const needle = wanted.toLowerCase();
  const results = h("ul", { class: "results", id: "results" });
  const progress = h("p", { class: "hint", id: "progress" }, "searching…");
  show(container, h("h2", {}, "Search ", h("q", {}, wanted)), progress, results);
  let hits = 0;
  for (const stage of allStages) {
    const where = [stage.name, ...Object.entries(stage.attributes).map(([key, value]) => `${key}: ${words(value)}`), stage.error?.message ?? ""]
      .find((text) => text.toLowerCase().includes(needle));
    if (where === undefined || hits >= MAX_HITS) continue;
    hits++;
    results.append(h("li", {}, link(placeOf(stage), h("span", { class: "where" }, dot(stage.kind), stage.label,
      h("small", {}, ` ${stage.run.label}${stage.index !== undefined ? ` · stage ${stage.index}` : ""}`)), excerpt(where, needle))));
  }
  const owners = textOwners();
  let done = 0;
  let found = hits;
  for (const [text, owner] of owners) {
    if (hits < MAX_HITS) {
      const lines = await textOf(text);
      if (!isCurrent()) return;
      const lower = lines.toLowerCase();
      let at = lower.indexOf(needle);
      let count = 0;
      for (let here = at; here >= 0; here = lower.indexOf(needle, here + needle.length)) count++;
      if (at >= 0) {
        const before = lower.slice(0, at).split("\n").length;
        const start = lower.lastIndexOf("\n", at) + 1;
        const end = lower.indexOf("\n", at);
        hits++;
        found += count;
        results.append(h("li", {}, link({ ...owner.place, line: before }, h("span", { class: "where" }, dot(owner.kind), owner.title,
          h("small", {}, ` line ${number(before)} · ${plural(count, "hit")}`)), excerpt(lines.slice(start, end < 0 ? undefined : end), needle))));
      }
    }
    if (++done % 8 === 0) progress.textContent = `searching… ${done} of ${owners.size} texts`;
  }
  progress.textContent = `${plural(found, "hit")} in ${plural(owners.size, "text")}${hits >= MAX_HITS ? `; the first ${MAX_HITS} places are shown` : ""}`;
  progress.dataset.done = "yes";
}

// Each text with the first place that shows it.
function textOwners() {
  const owners = new Map();
  const add = (text, owner) => text && !owners.has(text) && owners.set(text, owner);
  for (const compile of allCompiles) {
    const c = compileNumber(compile);
    for (const view of viewsOf(compile)) add(view.text, { place: { view: "passes", c, v: view.at, m: "text" }, kind: view.kind, title: viewName(view) });
    for (const stage of stagesOf(compile, "region")) add(stage.region?.text, { place: { view: "regions", c, s: stage.at }, kind: stage.kind, title: stage.region?.name });
    for (const stage of stagesOf(compile, "kernel")) {
      const all = [...stage.kernel.kernels.map((kernel) => [kernel.name, kernel.text]), ...stage.kernel.others.map((other) => [other.title, other.text])];
      all.forEach(([title, text], i) => add(text, { place: { view: "kernels", c, k: stage.at, i }, kind: stage.kind, title }));
    }
  }
  for (const stage of torchStages)
    for (const { text } of stage.torch.texts) add(text, { place: torchPlace(stage, text), kind: stage.kind, title: stage.label });
  return owners;
}

function excerpt(text, needle) {
  const at = text.toLowerCase().indexOf(needle);
  const from = Math.max(0, at - 50);
  return h("code", { class: "excerpt" }, from ? "…" : "", text.slice(from, at).trimStart(), h("mark", {}, text.slice(at, at + needle.length)),
    text.slice(at + needle.length, at + needle.length + 120));
}
