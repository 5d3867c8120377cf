// Line diff: equal head and tail off, lines unique to both sides as anchors (patience), Myers between the anchors.
const MYERS_LIMIT = 1500; // edits looked for between two anchors; past it, the whole stretch counts as replaced

// Returns [[kind, a, b], ...]: "=" both lines, "-" line a only, "+" line b only.
// `key` maps a line to what is compared, e.g. without variable numbers.
function diffLines(left, right, key = asWritten) {
  const ids = new Map();
  const id = (line) => {
    const value = key(line);
    let known = ids.get(value);
    if (known === undefined) ids.set(value, (known = ids.size));
    return known;
  };
  const a = left.map(id);
  const b = right.map(id);
  const out = [];
  diffRange(a, b, 0, a.length, 0, b.length, out);
  return out;
}

function diffRange(a, b, a0, a1, b0, b1, out) {
  while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) out.push(["=", a0++, b0++]);
  let tail = 0;
  while (a0 < a1 - tail && b0 < b1 - tail && a[a1 - tail - 1] === b[b1 - tail - 1]) tail++;
  const [aEnd, bEnd] = [a1 - tail, b1 - tail];
  if (a0 === aEnd || b0 === bEnd) replaced(a0, aEnd, b0, bEnd, out);
  else {
    const found = anchors(a, b, a0, aEnd, b0, bEnd);
    if (!found.length) myers(a, b, a0, aEnd, b0, bEnd, out);
    else {
      for (const [x, y] of found) {
        diffRange(a, b, a0, x, b0, y, out);
        out.push(["=", x, y]);
        [a0, b0] = [x + 1, y + 1];
      }
      diffRange(a, b, a0, aEnd, b0, bEnd, out);
    }
  }
  for (let i = 0; i < tail; i++) out.push(["=", aEnd + i, bEnd + i]);
}

function replaced(a0, a1, b0, b1, out) {
  for (; a0 < a1; a0++) out.push(["-", a0, -1]);
  for (; b0 < b1; b0++) out.push(["+", -1, b0]);
}

// Lines that stand once on each side, in the longest order common to both.
function anchors(a, b, a0, a1, b0, b1) {
  const seen = new Map(); // line -> [count left, count right, place left, place right]
  for (let i = a0; i < a1; i++) {
    const entry = seen.get(a[i]);
    if (entry) entry[0]++;
    else seen.set(a[i], [1, 0, i, -1]);
  }
  for (let i = b0; i < b1; i++) {
    const entry = seen.get(b[i]);
    if (entry) [entry[1], entry[3]] = [entry[1] + 1, i];
  }
  const pairs = [...seen.values()].filter(([l, r]) => l === 1 && r === 1).map(([, , x, y]) => [x, y]);
  const piles = []; // indices into pairs; the longest increasing run of places on the right
  const before = new Array(pairs.length).fill(-1);
  for (const [i, [, y]] of pairs.entries()) {
    let [low, high] = [0, piles.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[piles[middle]][1] < y) low = middle + 1;
      else high = middle;
    }
    before[i] = low ? piles[low - 1] : -1;
    piles[low] = i;
  }
  const run = [];
  for (let i = piles.length ? piles[piles.length - 1] : -1; i >= 0; i = before[i]) run.push(pairs[i]);
  return run.reverse();
}

function myers(a, b, a0, a1, b0, b1, out) {
  const [n, m] = [a1 - a0, b1 - b0];
  const limit = Math.min(n + m, MYERS_LIMIT);
  const reach = new Int32Array(2 * limit + 3);
  const steps = [];
  for (let d = 0; d <= limit; d++) {
    steps.push(reach.slice(limit - d, limit + d + 3));
    for (let k = -d; k <= d; k += 2) {
      const at = k + limit + 1;
      let x = k === -d || (k !== d && reach[at - 1] < reach[at + 1]) ? reach[at + 1] : reach[at - 1] + 1;
      while (x < n && x - k < m && a[a0 + x] === b[b0 + x - k]) x++;
      reach[at] = x;
      if (x >= n && x - k >= m) return backtrack(steps, n, m, a0, b0, out);
    }
  }
  replaced(a0, a1, b0, b1, out);
}

function backtrack(steps, n, m, a0, b0, out) {
  const found = [];
  let [x, y] = [n, m];
  for (let d = steps.length - 1; d >= 0; d--) {
    const reach = steps[d]; // index k + d + 1
    const k = x - y;
    const at = k + d + 1;
    const down = k === -d || (k !== d && reach[at - 1] < reach[at + 1]);
    const fromX = reach[down ? at + 1 : at - 1];
    const start = d === 0 ? 0 : fromX + (down ? 0 : 1);
    while (x > start) found.push(["=", a0 + --x, b0 + --y]);
    if (d > 0) found.push(down ? ["+", -1, b0 + --y] : ["-", a0 + --x, -1]);
  }
  for (let i = found.length - 1; i >= 0; i--) out.push(found[i]);
}

// The first line of a trace says which pass made it and how long it took: no change of the program.
const isProvenance = (line) => line.startsWith("# Constructed by ");
const asWritten = (line) => (isProvenance(line) ? "# Constructed by" : line);
const withoutNumbers = (line) => asWritten(line).replace(/\b([a-zA-Z]{1,2})\d+\b(?!\[)/g, "$1#");

// The part of two lines that differs, as [[from, to] left, [from, to] right]; null when little is common.
function changedPart(left, right) {
  const most = Math.min(left.length, right.length);
  let head = 0;
  while (head < most && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < most - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  if (head + tail < most * 0.4) return null;
  return [[head, left.length - tail], [head, right.length - tail]];
}
