// The lists as lanes, and each memory's way from its rank in each arm to its final one.
const DRAWN = 40; // the best ones; more lines would be a tangle
const FIRST = 3; // of each list, those that were dropped on the way: why not that one
const EVEN = 40; // down to this rank the steps are even; beyond, each doubling takes OCTAVE pixels
const STEP = 16, OCTAVE = 44, TOP = 56, SPAN = 1000;
const rows = data.candidates;
const lanes = [
  ...data.arms.map((arm) => ({ name: arm.name, short: arm.sign, by: arm.by, rank: (row) => row.ranks[arm.name] })),
  { name: "fused", short: "fus", by: data.fusion.by, rank: (row) => row.fused_rank },
  ...(rows.some((row) => row.read_rank)
    ? [{ name: "read", short: "read", by: "cross-encoder", rank: (row) => row.read_rank }] : []),
  { name: "final", short: "final", by: "with all factors", rank: (row) => row.final_rank },
];
const hues = new Map(rows.flatMap((row, place) => (row.became === "packed" ? [place] : [])).slice(0, 8).map((place, hue) => [place, hue]));
const ways = new Map(); // place -> everything drawn of it
let ground, dots, names;

const down = (rank) => TOP + STEP * (rank <= EVEN ? rank - 0.5 : EVEN - 0.5) + (rank <= EVEN ? 0 : OCTAVE * Math.log2(rank / EVEN));
const across = (lane) => (SPAN * (lane + 0.62)) / (lanes.length + 0.12);
const percent = (lane) => `${across(lane) / (SPAN / 100)}%`;
const stops = (row) => lanes.flatMap((lane, place) => (lane.rank(row) ? [[place, lane.rank(row)]] : []));

function chosen() {
  const some = new Set(rows.slice(0, DRAWN).keys());
  for (const lane of lanes) rows.forEach((row, place) => lane.rank(row) && lane.rank(row) <= FIRST && some.add(place));
  return [...some].sort((one, other) => one - other);
}

function curve([from, high], [to, low]) {
  const [x, y, last, end] = [across(from), down(high), across(to), down(low)], middle = (x + last) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${end} ${last} ${end}`;
}

function trail(place) {
  const row = rows[place], at_ranks = stops(row), packed = row.became === "packed";
  const look = `${packed ? "packed " : ""}${hues.has(place) ? `hue${hues.get(place)} ` : ""}`, made = [];
  at_ranks.slice(1).forEach((stop, before) => {
    const from = at_ranks[before], shape = curve(from, stop), whole = stop[0] === from[0] + 1;
    made.push(draw("path", { class: `${look}way${whole ? "" : " gap"}`, d: shape, "data-place": place }));
    if (whole) made.push(draw("path", { class: "touch", d: shape, "data-place": place }));
  });
  ground.append(...made);
  for (const [lane, rank] of at_ranks) {
    const number = String(rank), wide = packed ? 7.5 : 3;
    const dot = draw("g", { class: `${look}dot`, "data-place": place },
      draw("circle", { cx: percent(lane), cy: down(rank), r: wide }),
      draw("text", { x: percent(lane), y: down(rank) }, number));
    dots.append(dot);
    made.push(dot);
  }
  if (row.final_rank && row.final_rank <= EVEN) {
    const name = make("p", { class: look, dir: "auto", "data-place": place }, told(row).slice(0, 200));
    name.style.top = `${down(row.final_rank) - 8}px`;
    names.append(name);
    made.push(name);
  }
  ways.set(place, made);
}

function rails(height, deepest) {
  const made = [];
  for (const rank of [1, 5, 10, 20, 30, 40, 80, 160, 320, 640, 1280]) {
    if (rank > deepest) break;
    made.push(draw("line", { class: "grid", x1: 0, x2: "100%", y1: down(rank), y2: down(rank) }),
      draw("text", { class: "tick", x: 0, y: down(rank) - 3 }, String(rank)));
  }
  lanes.forEach((lane, place) => made.push(
    draw("line", { class: "rail", x1: percent(place), x2: percent(place), y1: TOP - 8, y2: height }),
    draw("text", { class: "name whole", x: percent(place), y: 16 }, lane.name),
    draw("text", { class: "name short", x: percent(place), y: 16 }, lane.short),
    draw("text", { class: "by", x: percent(place), y: 32 }, lane.by)));
  return made;
}

function draw_lanes() {
  const some = chosen();
  const deepest = Math.max(1, ...some.flatMap((place) => stops(rows[place]).map(([, rank]) => rank)));
  const height = down(deepest) + 14;
  ground = draw("svg", { viewBox: `0 0 ${SPAN} ${height}`, preserveAspectRatio: "none", width: "100%", height });
  dots = draw("g");
  names = make("div", { id: "names" });
  names.style.height = `${height}px`;
  at("lanes").append(draw("svg", { width: "100%", height, "aria-hidden": "true" }, rails(height, deepest), ground, dots), names);
  // The best are drawn last, so that they lie on top.
  [...some].reverse().forEach(trail);
  return some;
}
