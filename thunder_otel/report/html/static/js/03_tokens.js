// Colours one line at a time, when it comes into view, with the class names of pygments.
const PY_WORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except finally for from global " +
    "if import in is lambda nonlocal not or pass raise return try while with yield").split(" "),
);
const CPP_WORDS = new Set(
  ("alignas alignof asm auto bool break case catch char class const constexpr continue default delete do double else " +
    "enum explicit extern false float for friend goto if inline int int32_t int64_t uint32_t uint64_t long namespace " +
    "new nullptr operator private protected public register return short signed sizeof static static_assert " +
    "static_cast struct switch template this throw true try typedef typename union unsigned using virtual void " +
    "volatile while __device__ __global__ __shared__ __launch_bounds__ __restrict__").split(" "),
);
const CONSTANTS = new Set(["None", "True", "False", "true", "false", "nullptr"]);

const PY =
  /(?<c1>#)|(?<open>[rbfuRBFU]{0,2}(?:"""|'''))|(?<s>[rbfuRBFU]{0,2}(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))|(?<nd>@[\w.]+)|(?<n>[A-Za-z_]\w*)|(?<mi>\d[\w.]*)|(?<w>\s+)|(?<o>[^\s\w"'#@]+|.)/g;
const CPP =
  /(?<c1>\/\/)|(?<open>\/\*)|(?<cp>^\s*#.*)|(?<s>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(?<n>[A-Za-z_]\w*)|(?<mi>\d[\w.]*)|(?<w>\s+)|(?<o>[^\s\w"'\/#]+|.)/g;

const LANGUAGES = {
  py: { pattern: PY, words: PY_WORDS, closes: { '"""': '"""', "'''": "'''" } },
  cpp: { pattern: CPP, words: CPP_WORDS, closes: { "/*": "*/" } },
};
const MAX_COLOURED = 4000; // characters of one line

// What each line starts inside of ('"""', "*/", ... or ""), found without colouring.
function startStates(lines, language) {
  const rules = LANGUAGES[language];
  const states = new Array(lines.length).fill("");
  if (!rules) return states;
  const marks = Object.keys(rules.closes);
  let inside = "";
  for (let i = 0; i < lines.length; i++) {
    states[i] = inside;
    if (inside ? !lines[i].includes(inside) : !marks.some((mark) => lines[i].includes(mark))) continue;
    inside = tokens(lines[i], language, inside).inside;
  }
  return states;
}

// [[class, text], ...] of a line; `inside` on the result is what the next line starts inside of.
function tokens(line, language, inside = "") {
  const found = [];
  found.inside = inside;
  const rules = LANGUAGES[language];
  if (!rules || line.length > MAX_COLOURED) {
    found.push(["", line]);
    return found;
  }
  let at = 0;
  let comment = false;
  const block = language === "cpp" ? "cm" : "s";
  if (inside) {
    const end = line.indexOf(inside);
    if (end < 0) return (found.push([block, line]), found);
    at = end + inside.length;
    found.push([block, line.slice(0, at)]);
    found.inside = "";
  }
  const pattern = rules.pattern;
  pattern.lastIndex = at;
  for (let match; (match = pattern.exec(line)); ) {
    const groups = match.groups;
    const text = match[0];
    if (groups.open && !comment) {
      const close = rules.closes[text.replace(/^[rbfuRBFU]+/, "")];
      const end = line.indexOf(close, pattern.lastIndex);
      const stop = end < 0 ? line.length : end + close.length;
      found.push([block, line.slice(match.index, stop)]);
      if (end < 0) found.inside = close;
      pattern.lastIndex = stop;
      if (end < 0) break;
    } else if (groups.c1) {
      comment = true;
      found.push(["c1", text]);
    } else if (groups.n) found.push([nameClass(text, line, pattern.lastIndex, rules, comment), text]);
    else found.push([comment ? "c1" : (Object.keys(groups).find((key) => groups[key] !== undefined) ?? ""), text]);
  }
  return found;
}

// Names in comments stay names: a trace shows the parts of an operation as comments below it.
function nameClass(name, line, next, rules, comment) {
  if (rules.words.has(name)) return comment ? "c1" : CONSTANTS.has(name) ? "kc" : "k";
  const after = line[next];
  if (after === "(") return comment ? "c1" : "nf";
  if (after === "." || line[next - name.length - 1] === ".") return comment ? "c1" : "n";
  return comment ? "c1 var" : "n var";
}

function coloured(line, language, inside, marks) {
  const parts = tokens(line, language, inside).map(([kind, text]) =>
    kind === "" || kind === "w" ? text : h("span", { class: kind, "data-name": kind.endsWith("var") ? text : null }, text),
  );
  return marks ? marked(parts, marks) : parts;
}

// Wraps the characters [from, to) of coloured parts in <mark>.
function marked(parts, [from, to]) {
  const found = [];
  let at = 0;
  for (const part of parts) {
    const text = typeof part === "string" ? part : part.textContent;
    const [a, b] = [Math.max(from - at, 0), Math.min(to - at, text.length)];
    at += text.length;
    if (a >= b) {
      found.push(part);
      continue;
    }
    const wrap = (piece) => (typeof part === "string" ? piece : h("span", { class: part.className, "data-name": part.dataset.name }, piece));
    if (a > 0) found.push(wrap(text.slice(0, a)));
    found.push(h("mark", {}, wrap(text.slice(a, b))));
    if (b < text.length) found.push(wrap(text.slice(b)));
  }
  return found;
}
