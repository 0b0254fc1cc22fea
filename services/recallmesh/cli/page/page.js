// The page: its head, and the one memory that is lit in every lane and in the table at once.
let lit = null, pinned = null, extra = null;
const drawn_of = (place) => [...(ways.get(place) || []), ...at("table").querySelectorAll(`tr[data-place="${place}"]`)];

function light(place, telling) {
  if (place !== lit) {
    if (lit !== null) drawn_of(lit).forEach((each) => each.classList.remove("lit"));
    if (extra !== null) { ways.get(extra).forEach((each) => each.remove()); ways.delete(extra); extra = null; }
    lit = place;
    at("lanes").classList.toggle("lighting", lit !== null);
    if (lit !== null) {
      if (!ways.has(lit)) { trail(lit); extra = lit; } // not among those drawn, but asked for
      drawn_of(lit).forEach((each) => each.classList.add("lit"));
    }
  }
  if (telling) at("story").replaceChildren(...(rows.length ? [story(rows[lit ?? 0])] : []));
}

const place_of = (event) => {
  const found = event.target.closest?.("[data-place]");
  return found ? Number(found.dataset.place) : null;
};
for (const part of ["lanes", "table"]) {
  const telling = part === "lanes";
  at(part).addEventListener("mouseover", (event) => light(place_of(event) ?? pinned, telling));
  at(part).addEventListener("mouseleave", () => light(pinned, telling));
  at(part).addEventListener("focusin", (event) => place_of(event) !== null && light(place_of(event), telling));
}
at("table").addEventListener("focusout", () => light(pinned, false));
at("lanes").addEventListener("click", (event) => {
  const place = place_of(event);
  pinned = place === pinned ? null : place;
  light(pinned ?? place, true);
});
at("lanes").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.key === "Escape") { pinned = null; light(null, true); }
  if (!step || !rows.length) return;
  event.preventDefault();
  pinned = pinned === null ? 0 : Math.min(rows.length - 1, Math.max(0, pinned + step));
  light(pinned, true);
});

const tip = at("tip");
function tell(event) {
  const about = event.target.closest?.("[data-tip]"), number = event.target.closest?.("tbody td[data-name]");
  const said = about ? about.dataset.tip : number && number.textContent ? `${number.dataset.name}: ${number.dataset.name === "became" ? data.outcomes[number.textContent] : data.about[number.dataset.name]}` : "";
  tip.hidden = !said;
  if (!said) return;
  tip.textContent = said;
  if (event.type === "focusin") event.target.setAttribute("aria-describedby", "tip");
  const box = (about || number).getBoundingClientRect(), high = box.bottom + 6;
  tip.style.left = `${Math.max(6, Math.min(box.left, innerWidth - tip.offsetWidth - 6))}px`;
  tip.style.top = `${high + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 6 : high}px`;
}
for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, tell);
for (const kind of ["scroll", "focusout"]) document.addEventListener(kind, () => { tip.hidden = true; }, true);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

function draw_head() {
  document.title = `Why this memory? ${data.question}`;
  at("question").textContent = data.question;
  at("facts").append(...pairs(data.facts));
  at("parts").append(...data.parts.map((part) => make("li", {},
    make("b", {}, part.name), " ", make("small", {}, part.kind),
    make("p", {}, make("span", { class: `state ${part.state}` }, part.state), ` · ${part.count} · ${part.ms} ms`),
    part.detail ? make("p", {}, part.detail) : null)));
  const whole = Math.max(0.1, ...[...data.phases, ...data.hops].map((lap) => lap.start + lap.ms));
  const laid = (name, start, ms) => {
    const bar = make(name);
    bar.style.left = `min(${(100 * start) / whole}%, calc(100% - 2px))`;
    bar.style.width = `${(100 * ms) / whole}%`;
    return bar;
  };
  at("phases").append(...data.phases.map((phase) => {
    const bar = laid("span", phase.start, phase.ms);
    return make("div", { role: "listitem", "data-tip": `${phase.name}: from ${phase.start.toFixed(1)} ms on, for ${phase.ms.toFixed(1)} ms` },
      make("span", {}, phase.name), make("i", {}, bar), make("span", {}, `${phase.ms.toFixed(1)} ms`));
  }));
  at("calls").hidden = !data.hops.length;
  at("hops").append(...data.hops.map((hop) => {
    // How the wire's time lies on both sides of the work nobody knows: drawn as half and half.
    const bars = [laid("span", hop.start, hop.ms)];
    if (hop.inside !== null) bars.push(laid("b", hop.start + (hop.ms - hop.inside) / 2, hop.inside));
    const said = `${hop.ms.toFixed(1)} ms · ${hop.where} · ${hop.sent} out, ${hop.received} in`;
    return make("div", { role: "listitem", "data-tip": `${hop.name}: from ${hop.start.toFixed(1)} ms on, for ${said}` },
      make("span", {}, hop.name), make("i", {}, ...bars),
      make("span", hop.failure ? { class: "failed" } : {}, hop.failure ? `${hop.ms.toFixed(1)} ms · ${hop.failure}` : said));
  }));
}

function draw_notes(drawn) {
  const kept = data.fusion, counted = (by) => Object.entries(by).map(([arm, said]) => `${arm} ${said}`).join(", ");
  const said = [`The lists hold ${rows.length} different memories.`];
  said.push(kept.kept ? `The cross-encoder read ${kept.kept} of them (${kept.cap} at most), ${kept.dropped} were beyond it.` : "The cross-encoder read none of them.");
  if (kept.stopped) said.push(`Reading stopped early: ${kept.stopped}.`);
  if (Object.keys(kept.composition).length) said.push(`Those read were found by: ${counted(kept.composition)}.`);
  said.push(Object.keys(kept.boosts).length ? `Favoured: ${counted(kept.boosts)}.` : "No arm was favoured.");
  at("fusion").textContent = said.join(" ");
  const all = drawn.length === rows.length;
  at("drawn").textContent = `${all ? "All" : `${drawn.length}, the best and the first of each list,`} are drawn: filled is what came, hollow what did not` +
    `${all ? "" : "; touch any row of the table to see its line"}. Touch a line to follow it, press it to keep it.`;
  at("legend").append(...pairs([...columns.map((column) => [column.name, data.about[column.name]]), ["became", ""]].filter(([, about]) => about)));
  at("tuning").append(...pairs(data.tuning));
}

draw_head();
if (rows.length) {
  const drawn = draw_lanes();
  draw_table();
  draw_notes(drawn);
  light(null, true);
} else {
  for (const id of ["ways", "all", "words-of"]) at(id).parentElement.hidden = true;
}
