// One memory's way in words: who found it where, what each factor did, and what became of it.
const FACTORS = ["says", "place", "context", "names", "words", "length", "around", "recent", "time", "proof", "favour"];

function formula(scores) {
  const told = FACTORS.filter((name) => typeof scores[name] === "number");
  const telling = told.filter((name) => scores[name] !== 1 || name === "says");
  const odds = told.reduce((so_far, name) => so_far * scores[name], 1);
  return `o = ${telling.map((name) => `${name} ${shortened(scores[name])}`).join(" · ")} = ` +
    `${odds >= 100 ? Math.round(odds).toLocaleString("en") : odds.toPrecision(3)},   final = o / (1 + o) = ${shortened(scores.final)}`;
}

function story(row) {
  const found = data.arms.filter((arm) => arm.name in row.ranks).map((arm) => make("li", {},
    make("b", {}, `${arm.name} ${row.ranks[arm.name]}`), " ",
    make("span", { dir: "auto" }, [
      typeof row.own[arm.name] === "number" ? `score ${Number(row.own[arm.name].toPrecision(4))}` : "",
      row.because[arm.name] || "",
    ].filter(Boolean).join(": "))));
  const then = [`fused ${row.fused_rank}`, row.read_rank ? `cross-encoder ${row.read_rank}` : null, row.final_rank ? `final ${row.final_rank}` : null];
  found.push(...then.filter(Boolean).map((said) => make("li", {}, make("b", {}, said))));
  const notes = [row.when, ...row.tags.map((tag) => `#${tag}`), row.tokens ? `${row.tokens} tokens` : ""].filter(Boolean);
  const why = `${row.became}: ${data.outcomes[row.became] || ""}${row.detail && row.detail !== row.became ? ` (${row.detail})` : ""}`;
  return make("div", { class: "story" },
    make("p", { class: "said", dir: "auto" }, told(row)),
    notes.length ? make("p", { class: "by", dir: "auto" }, notes.join(" · ")) : null,
    make("ul", {}, found),
    row.reranked && row.final_rank ? make("p", {}, make("code", {}, formula(row.scores))) : null,
    make("p", {}, make("b", {}, why)));
}
