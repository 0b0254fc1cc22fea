// Building what is shown. Texts of the data become text nodes and nothing else.
const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);

function make(name, about = {}, ...inside) {
  const made = about.svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(about)) {
    if (key === "svg" || value === undefined || value === null) continue;
    made.setAttribute(key, value);
  }
  for (const each of inside.flat()) if (each !== null && each !== undefined) made.append(each);
  return made;
}

const draw = (name, about, ...inside) => make(name, { svg: true, ...about }, ...inside);
const pairs = (list) => list.flatMap(([name, said]) => [make("dt", {}, name), make("dd", { dir: "auto" }, said)]);
const shortened = (number, digits = 3) =>
  number !== 0 && Math.abs(number) < 0.001 ? number.toExponential(1) : number.toFixed(digits);
const told = (row) => row.text || `(${row.id})`;
