// The ledger: for each op that runs, who was asked for it, who took it, and why it was not fused.
const MAX_ENTRIES = 200;
// In the order in which they run: the backward's code is made first.
const RUN_ORDER = ["prologue", "computation", "backward", "epilogue"];

function ledgers(compile) {
  const stages = stagesOf(compile, "codegen").filter((stage) => stage.ledger?.text)
    .sort((a, b) => RUN_ORDER.indexOf(a.kind) - RUN_ORDER.indexOf(b.kind));
  if (!stages.length) return null;
  const lists = h("div", {}, stages.map(ledgerByReason));
  const wanted = h("input", { type: "search", class: "filter", placeholder: "op, result or source line", "aria-label": "Find an op's verdicts" });
  const found = h("div", { id: "ledger-found" });
  wanted.addEventListener("input", async () => {
    const needle = wanted.value.trim().toLowerCase();
    const texts = needle ? await Promise.all(stages.map((stage) => entriesOf(stage.ledger.text))) : [];
    if (wanted.value.trim().toLowerCase() !== needle) return; // typed on meanwhile
    lists.hidden = Boolean(needle);
    show(found, needle && stages.map((stage, i) => {
      const entries = texts[i].filter((entry) => entryHas(entry, needle));
      return h("section", {}, h("h4", {}, dot(stage.kind), `${stage.kind}: ${plural(entries.length, "op")}`), verdicts(entries));
    }));
  });
  return h("div", { id: "ledger" }, h("h3", {}, "Why each op runs where it does"), wanted, found, lists);
}

function ledgerByReason(stage) {
  return h("section", {}, h("h4", {}, dot(stage.kind), stage.kind),
    stage.ledger.summary.map((line) => {
      const space = line.indexOf(" ");
      const kind = line.slice(space + 1);
      const list = h("div", {});
      const open = async () => {
        if (list.childElementCount) return;
        show(list, verdicts((await entriesOf(stage.ledger.text)).filter((entry) => entry.kind === kind)));
      };
      return h("details", { class: "reason", ontoggle: open }, h("summary", {}, kind, h("small", {}, ` ${number(Number(line.slice(0, space)))}`)), list);
    }));
}

// A line that was torn is passed over.
async function entriesOf(text) {
  return (await linesOf(text)).flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

const entryHas = (entry, needle) =>
  [entry.op, entry.runs_as, ...entry.out, ...entry.source, ...entry.asked.map((one) => one.op)].some((text) => text.toLowerCase().includes(needle));

// Ops of which the same was said are one item.
function verdicts(entries) {
  const groups = new Map();
  for (const entry of entries) {
    const key = JSON.stringify([entry.op, entry.executor, entry.region, entry.why, entry.asked]);
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  const all = [...groups.values()];
  return h("ul", { class: "verdicts" }, all.slice(0, MAX_ENTRIES).map(verdict),
    all.length > MAX_ENTRIES && h("li", { class: "hint" }, `and ${number(all.length - MAX_ENTRIES)} more: look for one by its name`));
}

function verdict(same) {
  const [first] = same;
  const sources = [...new Set(same.flatMap((entry) => entry.source))];
  const ran = `${first.runs_as} by ${first.executor || "Python"}`;
  return h("li", {},
    h("code", {}, first.op), ` → ${first.out.join(", ") || "nothing"}`, same.length > 1 && h("small", {}, ` and ${same.length - 1} more like it`),
    h("p", {}, `runs as ${first.region ? `${ran} in ${first.region}` : ran}: ${first.why}`),
    first.asked.length > 0 && h("ul", { class: "asked" }, first.asked.map((one) => h("li", {},
      h("b", {}, one.executor), one.op === first.op ? "" : ` (of ${one.op})`, ": ", one.took ? "took it" : one.why))),
    sources.length > 0 && h("p", { class: "path" }, sources.slice(0, 3).join(", "), sources.length > 3 && ` and ${plural(sources.length - 3, "more line")}`));
}
