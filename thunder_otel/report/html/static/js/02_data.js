// The report's data: runs (one a rank), their stages and compiles, and the texts, which are unpacked when needed.
const report = JSON.parse(document.getElementById("report-data").textContent);

for (const [r, run] of report.runs.entries()) {
  run.at = r;
  run.label = run.rank === null ? run.name : `rank ${run.rank}`;
  for (const [i, stage] of run.stages.entries()) {
    Object.assign(stage, { at: i, run, children: [], end: stage.took === null ? null : stage.start + stage.took });
  }
  for (const stage of run.stages) {
    stage.up = stage.parent === null ? null : run.stages[stage.parent];
    stage.up?.children.push(stage);
  }
  run.compiles = run.stages.filter((stage) => stage.role === "compile");
  for (const stage of run.stages) stage.compile = outer(stage, (up) => up.role === "compile");
  for (const stage of run.stages) {
    const region = outer(stage, (up) => up.role === "region")?.region;
    if (!region) continue;
    stage.inside = region.name; // and what is generated inside a region is the code it runs as
    if (stage.role === "codegen") region.code = stage.traces?.[0]?.text;
  }
}

function outer(stage, fits) {
  for (let up = stage; up; up = up.up) if (fits(up)) return up;
  return null;
}


const allStages = report.runs.flatMap((run) => run.stages);
const allCompiles = report.runs.flatMap((run) => run.compiles);
const stagesOf = (compile, role) =>
  compile.run.stages.filter((stage) => stage.compile === compile && stage.role === role);

// A view is one text of a stage: acquire has three, most passes one. `base` is the view it is compared with.
function viewsOf(compile) {
  if (compile.views) return compile.views;
  const latest = {};
  const views = [];
  const byIndex = {};
  const stages = compile.run.stages.filter((stage) => stage.compile === compile && (stage.index !== undefined || stage.traces));
  // A pass inside another ends first: in the order of their ends each pass follows the text it worked on.
  for (const stage of stages.sort((a, b) => (a.end ?? Infinity) - (b.end ?? Infinity) || (b.index ?? -1) - (a.index ?? -1))) {
    const traces = stage.traces ?? [];
    for (const trace of traces) {
      const kind = trace.kind || stage.kind || "other";
      const region = kind === "region";
      const base = latest[kind] ?? { backward: latest.joint, joint: latest.computation }[kind] ?? null;
      const text = trace.text ?? byIndex[`${trace.same_as} ${kind}`]?.text ?? null;
      const view = { stage, kind, text, base: region ? null : base, changed: trace.changed, trace, at: views.length };
      if (view.text && !region) latest[kind] = view;
      if (view.text && trace.changed !== false) byIndex[`${stage.index} ${kind}`] = view;
      views.push(view);
    }
    if (!traces.length && stage.role !== "region")
      views.push({ stage, kind: stage.kind ?? "other", text: null, base: null, changed: undefined, at: views.length });
  }
  compile.views = views;
  return views;
}

function viewName({ stage, kind }) {
  if (stage.role === "compile") return "last good trace"; // what a failed compile left
  if (kind === "region" && stage.inside) return `${stage.inside} ${stage.role}`;
  return stage.traces?.length > 1 ? `${stage.label} ${kind}` : stage.label;
}

// Texts: unpacked once, the latest used ones kept.
const MAX_KEPT = 64e6;
const kept = new Map();
let keptSize = 0;
const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

async function unpack(base64) {
  const raw = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

async function textOf(id) {
  if (kept.has(id)) {
    const text = kept.get(id);
    kept.delete(id);
    kept.set(id, text);
    return text;
  }
  let block = document.getElementById(`text-${id}`);
  if (!block) {
    await parsed; // the page is still being read; its texts come last
    block = document.getElementById(`text-${id}`);
  }
  if (!block) return "(this text was not in the run folder)";
  const text = await unpack(block.textContent);
  kept.set(id, text);
  keptSize += text.length;
  for (const [old, value] of kept) {
    if (keptSize <= MAX_KEPT || old === id) break;
    kept.delete(old);
    keptSize -= value.length;
  }
  return text;
}

const linesOf = async (id) => (await textOf(id)).replace(/\n$/, "").split("\n");
