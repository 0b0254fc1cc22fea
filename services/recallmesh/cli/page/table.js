// The table of candidates: sorted by any column, filtered by text and by outcome.
const PAGE = 200; // rows at first: thousands of them at once make a page slow
const columns = [
  { name: "#", of: (row) => row.final_rank, rises: true },
  ...data.arms.map((arm) => ({ name: arm.sign, of: (row) => row.ranks[arm.name], rises: true })),
  { name: "fus", of: (row) => row.fused_rank, rises: true },
  { name: "RRF", of: (row) => row.scores.RRF, show: (number) => number.toFixed(4) },
  { name: "reads", of: (row) => row.scores.reads, show: (number, row) => (row.reranked ? shortened(number) : `(${shortened(number)})`) },
  ...FACTORS.filter((name) => !["proof", "favour"].includes(name) || data.candidates.some((row) => (row.scores[name] ?? 1) !== 1))
    .map((name) => ({ name, of: (row) => row.scores[name], factor: true })),
  { name: "final", of: (row) => row.scores.final },
  { name: "tok", of: (row) => row.tokens, show: String },
  { name: "became", of: (row) => row.became, left: true, rises: true, show: String },
  { name: "memory", of: told, left: true, rises: true },
];
const sieve = { words: "", became: null, by: columns[0], rises: true, all: false };
const open = new Set();

function cell(column, row, place) {
  const value = column.of(row), missing = value === undefined || value === null;
  if (column.name === "memory") {
    return make("td", { class: "memory" },
      make("button", { type: "button", dir: "auto", "aria-expanded": open.has(place) }, value));
  }
  const said = missing ? "" : column.show ? column.show(value, row) : column.rises ? String(value) : shortened(value);
  const change = !column.factor || missing ? "" : Math.abs(value - 1) < 0.0005 ? " flat" : value > 1 ? " up" : " down";
  return make("td", { class: `${column.name === "#" ? "number" : column.name}${column.left ? " left" : ""}${change}`, "data-name": column.name }, said);
}

function compare(one, other) {
  const [left, right] = [sieve.by.of(rows[one]), sieve.by.of(rows[other])];
  const [no_left, no_right] = [left === undefined || left === null, right === undefined || right === null];
  if (no_left || no_right) return no_left - no_right || one - other; // what has none comes last, either way round
  const order = typeof left === "string" ? left.localeCompare(right) : left - right;
  return (sieve.rises ? order : -order) || one - other;
}

function passing() {
  const words = sieve.words.toLowerCase();
  const within = (row) => [row.text, row.id, ...row.tags, ...Object.values(row.because)].some((text) => text.toLowerCase().includes(words));
  return [...rows.keys()].filter((place) => (!sieve.became || rows[place].became === sieve.became) && (!words || within(rows[place])));
}

function fill() {
  const places = passing().sort(compare), some = sieve.all ? places : places.slice(0, PAGE);
  const lines = some.flatMap((place) => {
    const row = rows[place];
    const line = make("tr", { class: row.became === "packed" ? "packed" : null, "data-place": place }, columns.map((column) => cell(column, row, place)));
    return open.has(place) ? [line, make("tr", { class: "more" }, make("td", { colspan: columns.length }, story(row)))] : [line];
  });
  at("table").tBodies[0].replaceChildren(...lines);
  at("shown").value = places.length === rows.length ? `${rows.length} of them` : `${places.length} of ${rows.length}`;
  at("more").hidden = some.length === places.length;
  at("more").textContent = `show all ${places.length} rows`;
  for (const head of at("table").tHead.rows[0].cells) {
    const by = head.dataset.name === sieve.by.name;
    head.setAttribute("aria-sort", by ? (sieve.rises ? "ascending" : "descending") : "none");
  }
}

function draw_table() {
  at("table").tHead.append(make("tr", {}, columns.map((column) => make("th",
    { scope: "col", class: column.left ? "left" : null, "data-name": column.name, "data-tip": data.about[column.name] || "the memory; press it for its whole way" },
    make("button", { type: "button" }, column.name)))));
  const ended = Object.keys(data.outcomes).filter((name) => rows.some((row) => row.became === name));
  at("chips").append(...ended.map((name) => make("button",
    { type: "button", "aria-pressed": "false", "data-became": name, "data-tip": data.outcomes[name] },
    `${name} ${rows.filter((row) => row.became === name).length}`)));
  fill();
}

at("table").addEventListener("click", (event) => {
  const head = event.target.closest("th"), line = event.target.closest("tr[data-place]");
  if (head) {
    const column = columns.find((each) => each.name === head.dataset.name);
    sieve.rises = sieve.by === column ? !sieve.rises : Boolean(column.rises);
    sieve.by = column;
    fill();
  } else if (line) {
    const place = Number(line.dataset.place);
    if (!open.delete(place)) open.add(place);
    const opened = open.has(place);
    line.querySelector("button").setAttribute("aria-expanded", opened);
    if (opened) line.after(make("tr", { class: "more" }, make("td", { colspan: columns.length }, story(rows[place]))));
    else line.nextElementSibling.remove();
  }
});
at("words").addEventListener("input", (event) => { sieve.words = event.target.value; fill(); });
at("sieve").addEventListener("submit", (event) => event.preventDefault());
at("more").addEventListener("click", () => { sieve.all = true; fill(); });
at("chips").addEventListener("click", (event) => {
  const pressed = event.target.closest("button");
  if (!pressed) return;
  sieve.became = sieve.became === pressed.dataset.became ? null : pressed.dataset.became;
  for (const chip of at("chips").children) chip.setAttribute("aria-pressed", chip.dataset.became === sieve.became);
  fill();
});
