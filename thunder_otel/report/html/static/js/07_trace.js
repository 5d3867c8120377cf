// What a trace's text says: where names are made and used, which source line a line comes from, what it is made of.
const SOURCE = /^\s*# ([^"=(]*[^"=(\s\d]):(\d+):\s?(.*)$/;
const OPERATION = /^(\s*)(# )?(?:([^=(#]*|\([^=#]*\)|\[[^=#]*\]) = )?([A-Za-z_][\w.]*)\((.*)$/;
const SHAPE = /# ([A-Za-z_]\w*): "([^"]+)"\s*$/;
const NAME = /[A-Za-z_]\w*/g;

function parseTrace(lines) {
  const trace = { lines, operations: [], sources: [], source: new Int32Array(lines.length).fill(-1), shapes: new Map() };
  let source = -1;
  for (const [i, line] of lines.entries()) {
    const shape = SHAPE.exec(line);
    if (shape) trace.shapes.set(shape[1], shape[2]);
    const found = SOURCE.exec(line);
    if (found) {
      source = trace.sources.push({ line: i, file: found[1], at: Number(found[2]), text: found[3].trim() }) - 1;
      trace.source[i] = source;
      continue;
    }
    const operation = OPERATION.exec(line);
    if (!operation || line.startsWith("def ") || line.startsWith("@")) continue;
    trace.source[i] = source;
    trace.operations.push({
      line: i,
      depth: operation[1].length / 2 + (operation[2] ? 1 : 0),
      outputs: (operation[3] ?? "").match(NAME) ?? [],
      op: operation[4],
      text: line.trim().replace(/^# /, ""),
    });
  }
  return trace;
}

const mentions = (line, name) => new RegExp(`(?<![\\w.])${name}(?!\\w)`).test(line);

// {made: line or -1, uses: [line, ...], shape} of a name.
function usesOf(trace, name) {
  const makers = trace.operations.filter((operation) => operation.outputs.includes(name));
  let made = makers.length ? makers.reduce((best, one) => (one.depth < best.depth ? one : best)).line : -1;
  const uses = [];
  for (const [i, line] of trace.lines.entries()) {
    if (!mentions(line, name) || SOURCE.test(line)) continue;
    if (made < 0 && (/^\s*def /.test(line) || / = \w+\s*$/.test(line))) made = i;
    else if (i !== made && !makers.some((maker) => maker.line === i) && !new RegExp(`^\\s*# ${name}: "`).test(line)) uses.push(i);
  }
  return { made, uses, shape: trace.shapes.get(name) ?? "" };
}

// The operation on a line and, below it, the operations it is made of.
function operationAt(trace, line) {
  const at = trace.operations.findIndex((operation) => operation.line === line);
  if (at < 0) return null;
  const operation = trace.operations[at];
  const parts = [];
  for (let i = at + 1; i < trace.operations.length; i++) {
    if (trace.operations[i].depth <= operation.depth) break;
    parts.push(trace.operations[i]);
  }
  const found = trace.source[line];
  return { ...operation, parts, source: found < 0 ? null : trace.sources[found] };
}

const isSameSource = (one, other) => one.file === other.file && one.at === other.at;

// The places at which a source line stands above operations: one for each time that the program ran through it.
function turnsOf(trace, source) {
  const used = new Set(trace.operations.map((operation) => trace.source[operation.line]));
  return trace.sources.flatMap((one, i) => (used.has(i) && isSameSource(one, source) ? [i] : []));
}

// Which turn of its source line a line belongs to, e.g. the third of five calls of a layer.
function turnAt(trace, line) {
  const turns = turnsOf(trace, trace.sources[trace.source[line]]);
  return { turn: turns.indexOf(trace.source[line]), of: turns.length };
}

// The operations of the same turn in another trace; when that one has more or fewer turns, those of all, unsure.
function operationsOfTurn(trace, source, { turn, of }) {
  const turns = turnsOf(trace, source);
  const sure = turns.length === of;
  const wanted = sure ? [turns[turn]] : turns;
  return { sure, operations: trace.operations.filter((operation) => wanted.includes(trace.source[operation.line])) };
}

// What is known of every text of a compile that holds operations, parsed once each.
const traces = new Map();
async function traceOf(text) {
  if (!traces.has(text)) {
    if (traces.size > 40) traces.clear();
    traces.set(text, linesOf(text).then(parseTrace));
  }
  return traces.get(text);
}

// Inductor's module names, above each call, the operations it computes (for Triton kernels and for library calls; for
// C++ kernels it does not). Returns [{kernel, names}, ...].
function kernelCalls(outputCode) {
  const found = [];
  let names = [];
  for (const line of outputCode.split("\n")) {
    const comment = /# Topologically Sorted Source Nodes: \[(.*?)\]/.exec(line);
    const call = /^\s+(?:\w+ = )?((?:cpp|triton|cuda)_\w+|extern_kernels\.\w+|torch\.ops\.[\w.]+)(?:\.run)?\(/.exec(line);
    if (comment) names.push(...comment[1].split(", "));
    if (!call) continue;
    found.push({ kernel: call[1].replace(/\.run$/, ""), names });
    names = [];
  }
  return found;
}
