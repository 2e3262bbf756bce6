"use strict";
const facts = JSON.parse(document.getElementById("facts").textContent);

/* A new element; text is text, never markup. */
function element(name, options = {}, children = []) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(options)) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/* weight(layer, head, row, column) of packed weights; null stands for the mean of all heads. */
function reader(view, rows, columns) {
  const values = bytes(view.weights.values);
  const sparse = view.weights.places !== undefined;
  const kept = values.length / Math.max(1, view.layers * view.heads * rows);
  const places = sparse ? new DataView(bytes(view.weights.places).buffer) : null;
  function row(layer, head, place) {
    const start = ((layer * view.heads + head) * rows + place) * kept;
    const found = new Float32Array(columns);
    for (let at = 0; at < kept; at++) {
      const column = sparse ? places.getUint16(2 * (start + at), true) : at;
      found[column] = (values[start + at] / 255) ** 2;
    }
    return found;
  }
  return function (layer, head, place) {
    const heads = head === null ? [...Array(view.heads).keys()] : [head];
    const found = new Float32Array(columns);
    for (const each of heads) {
      row(layer, each, place).forEach((value, at) => { found[at] += value / heads.length; });
    }
    return found;
  };
}

/* Selects of a layer and a head, where there are several. */
function choices(view, controls, changed) {
  const chosen = { layer: view.layers - 1, head: view.heads > 1 ? null : 0 };
  function select(label, count, first, set) {
    if (count < 2) return;
    const box = element("select", { "aria-label": label });
    if (first) box.append(element("option", { value: "", text: first }));
    for (let at = 0; at < count; at++) {
      box.append(element("option", { value: at, text: `${label} ${at + 1}` }));
    }
    box.value = first ? "" : count - 1;
    box.addEventListener("change", () => { set(box.value === "" ? null : Number(box.value)); changed(); });
    controls.append(box);
  }
  select(view.layer || "layer", view.layers, "", (value) => { chosen.layer = value; });
  select("head", view.heads, "mean of heads", (value) => { chosen.head = value; });
  return chosen;
}

/* A row of words that one steps through: hover, tap, arrow keys; Escape lets go. */
function wordRow(words, label, look, list = false) {
  const row = element("div", { class: list ? "words list" : "words", role: "group", "aria-label": label });
  let pinned = null;
  const buttons = words.map((word, at) => element("button", {
    class: "word", type: "button", dir: "auto", text: word || "\u2423", tabindex: at ? -1 : 0,
    onmouseenter: () => { if (pinned === null) look(at); },
    onmouseleave: () => { if (pinned === null) look(null); },
    onfocus: () => { if (pinned === null || pinned !== at) { pin(null); look(at); } },
    onclick: () => { pin(pinned === at ? null : at); look(pinned === null ? at : pinned); },
  }));
  function pin(at) {
    pinned = at;
    buttons.forEach((button, place) => {
      button.classList.toggle("pinned", place === at);
      button.setAttribute("aria-pressed", place === at);
    });
  }
  row.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    let next = null;
    if (event.key in steps) next = at + steps[event.key];
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = buttons.length - 1;
    else if (event.key === "Escape") { pin(null); look(null); return; }
    if (next === null || at < 0) return;
    event.preventDefault();
    next = Math.min(buttons.length - 1, Math.max(0, next));
    buttons.forEach((button, place) => { button.tabIndex = place === next ? 0 : -1; });
    buttons[next].focus();
  });
  row.append(...buttons);
  return { row, buttons, release: () => pin(null) };
}

function shade(button, weight, largest) {
  const share = largest > 0 ? weight / largest : 0;
  button.style.background = weight > 0 ? `rgba(var(--heat), ${(0.75 * share).toFixed(3)})` : "";
}

function spoken(word, names, weights) {
  const best = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, 3);
  const parts = best.filter((at) => weights[at] > 0).map((at) => `${names[at]} ${weights[at].toFixed(2)}`);
  return `${word}: ${parts.join(", ") || "nothing"}`;
}

const HEAT = [[0, 0, 4], [87, 16, 110], [188, 55, 84], [249, 142, 9], [252, 255, 164]];
/* Color of a share from 0 to 1, as in matplotlib's inferno. */
function heat(share) {
  const at = Math.min(HEAT.length - 1.001, Math.max(0, share) * (HEAT.length - 1));
  const low = Math.floor(at);
  return HEAT[low].map((value, place) => Math.round(value + (HEAT[low + 1][place] - value) * (at - low)));
}

function tokens(view) {
  const body = element("section", { "aria-label": view.name }, [element("h2", { text: view.name })]);
  const controls = element("div", { class: "controls" });
  const said = element("p", { class: "said", role: "status", "aria-live": "polite" });
  const weights = reader(view, view.rows.length, view.columns.length);
  let looking = null;
  const chosen = choices(view, controls, () => { show(looking); drawMatrix(); });
  const hops = view.columns.some((word) => word.length > 30);
  const looks = wordRow(view.rows, view.titles[0], (at) => show(at === null ? null : { row: at }));
  const seen = wordRow(view.columns, view.titles[1], (at) => show(at === null ? null : { column: at }), hops);

  function show(place) {
    looking = place;
    looks.buttons.forEach((button, at) => { button.style.background = ""; button.classList.toggle("active", !!place && place.row === at); });
    seen.buttons.forEach((button, at) => { button.style.background = ""; button.classList.toggle("active", !!place && place.column === at); });
    if (!place) { said.textContent = ""; return; }
    if (place.row !== undefined) {
      seen.release();
      const row = weights(chosen.layer, chosen.head, place.row);
      const largest = Math.max(...row);
      row.forEach((weight, at) => shade(seen.buttons[at], weight, largest));
      said.textContent = spoken(view.rows[place.row], view.columns, row);
    } else {
      looks.release();
      const column = view.rows.map((_, at) => weights(chosen.layer, chosen.head, at)[place.column]);
      const largest = Math.max(...column);
      column.forEach((weight, at) => shade(looks.buttons[at], weight, largest));
      said.textContent = spoken(view.columns[place.column], view.rows, column);
    }
  }

  const matrix = element("div", { class: "matrix hidden" });
  function drawMatrix() {
    if (matrix.classList.contains("hidden")) return;
    const size = 22, left = 150, top = 130;
    const canvas = element("canvas", {
      width: left + size * view.columns.length + 10, height: top + size * view.rows.length + 10,
      role: "img", "aria-label": `${view.name}: a row for each word of the ${view.titles[0]}`,
    });
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), blue = style.getPropertyValue("--heat");
    const short = (word) => (word.length > 18 ? `${word.slice(0, 17)}…` : word);
    pen.font = "13px system-ui, sans-serif";
    view.columns.forEach((word, at) => {
      pen.save();
      pen.translate(left + size * at + size / 2 + 4, top - 6);
      pen.rotate(-Math.PI / 3);
      pen.fillStyle = ink;
      pen.fillText(short(word), 0, 0);
      pen.restore();
    });
    view.rows.forEach((word, at) => {
      pen.fillStyle = ink;
      pen.textAlign = "right";
      pen.fillText(short(word), left - 6, top + size * at + 15);
      weights(chosen.layer, chosen.head, at).forEach((weight, column) => {
        pen.fillStyle = `rgba(${blue}, ${weight.toFixed(3)})`;
        pen.fillRect(left + size * column, top + size * at, size - 1, size - 1);
      });
    });
    canvas.addEventListener("mousemove", (event) => {
      const column = Math.floor((event.offsetX - left) / size), row = Math.floor((event.offsetY - top) / size);
      if (column < 0 || row < 0 || column >= view.columns.length || row >= view.rows.length) return;
      const weight = weights(chosen.layer, chosen.head, row)[column];
      said.textContent = `${view.rows[row]} → ${view.columns[column]}: ${weight.toFixed(3)}`;
    });
    matrix.replaceChildren(canvas);
  }
  const toggle = element("button", { type: "button", text: "Matrix", "aria-pressed": false, onclick: () => {
    const shown = matrix.classList.toggle("hidden");
    toggle.setAttribute("aria-pressed", !shown);
    drawMatrix();
  } });
  controls.append(toggle);
  themed.push(drawMatrix);
  body.append(
    controls,
    element("div", { class: "title", text: view.titles[0] }), looks.row,
    element("div", { class: "title", text: view.titles[1] }), seen.row,
    said, matrix,
  );
  if (view.note) body.append(element("p", { class: "said", text: view.note }));
  return body;
}

function picture(view) {
  const body = element("section", { "aria-label": view.name }, [element("h2", { text: view.name })]);
  const controls = element("div", { class: "controls" });
  const said = element("p", { class: "said", role: "status", "aria-live": "polite" });
  const [high, wide] = view.grid;
  const weights = reader(view, view.steps.length, high * wide);
  const canvas = element("canvas", { width: view.width, height: view.height, role: "img", "aria-label": facts.answers.length ? facts.answers[0][0] : facts.asked });
  const pen = canvas.getContext("2d"), image = new Image();
  let at = null, timer = null;
  const chosen = choices(view, controls, draw);
  const words = wordRow(view.steps, "words of the answer", (place) => { at = place; draw(); });

  function draw() {
    pen.drawImage(image, 0, 0, view.width, view.height);
    words.buttons.forEach((button, place) => button.classList.toggle("active", place === at));
    if (at === null) { said.textContent = "Choose a word to see where the model looked, or press Play."; return; }
    const map = weights(chosen.layer, chosen.head, at), largest = Math.max(...map, 1e-9);
    const small = element("canvas", { width: wide, height: high }), cells = small.getContext("2d");
    const pixels = cells.createImageData(wide, high);
    map.forEach((weight, place) => {
      const share = weight / largest;
      pixels.data.set([...heat(share), Math.round(40 + 150 * share)], 4 * place);
    });
    cells.putImageData(pixels, 0, 0);
    pen.imageSmoothingEnabled = true;
    pen.imageSmoothingQuality = "high";
    pen.drawImage(small, 0, 0, view.width, view.height);
    const peak = map.indexOf(Math.max(...map));
    const across = ["left", "middle", "right"][Math.floor((3 * ((peak % wide) + 0.5)) / wide)];
    const down = ["top", "middle", "bottom"][Math.floor((3 * (Math.floor(peak / wide) + 0.5)) / high)];
    const place = down === across ? "center" : `${down} ${across}`;
    said.textContent = `${view.steps[at]}: most at the ${place}, ${map[peak].toFixed(2)} of the attention`;
  }
  image.addEventListener("load", draw);
  image.src = view.picture;
  const play = element("button", { type: "button", text: "Play", onclick: () => {
    if (timer) { clearInterval(timer); timer = null; play.textContent = "Play"; return; }
    play.textContent = "Stop";
    at = -1;
    const next = () => {
      at += 1;
      if (at >= view.steps.length) { at = null; clearInterval(timer); timer = null; play.textContent = "Play"; }
      draw();
    };
    next();
    timer = setInterval(next, 900);
  } });
  if (view.steps.length > 1) controls.append(play);
  const scale = element("canvas", { width: 120, height: 10, "aria-hidden": true }), brush = scale.getContext("2d");
  for (let x = 0; x < 120; x++) { brush.fillStyle = `rgb(${heat(x / 119)})`; brush.fillRect(x, 0, 1, 10); }
  controls.append(element("span", { class: "scale" }, ["0", scale, "the word's largest"]));
  body.append(controls, words.row, element("div", { class: "stage" }, [canvas]), said);
  return body;
}

function shaded(view) {
  const body = element("section", { "aria-label": view.name }, [element("h2", { text: view.name })]);
  const said = element("p", { class: "said", role: "status", "aria-live": "polite" });
  const largest = Math.max(...view.weights, 0);
  const words = wordRow(view.words, view.name, (at) => {
    said.textContent = at === null ? "" : `${view.words[at]}: ${view.weights[at].toFixed(3)}`;
  });
  words.buttons.forEach((button, at) => shade(button, view.weights[at], largest));
  body.append(words.row, said);
  return body;
}

function sampling(view) {
  const body = element("section", { "aria-label": view.name }, [element("h2", { text: view.name })]);
  const canvas = element("canvas", { width: view.width, height: view.height, role: "img", "aria-label": "the picture, with the points that are read" });
  const pen = canvas.getContext("2d"), image = new Image();
  const point = ([x, y]) => [((x + 1) / 2) * view.width, ((y + 1) / 2) * view.height];
  image.addEventListener("load", () => {
    pen.drawImage(image, 0, 0, view.width, view.height);
    const columns = view.points[0].map((_, at) => view.points.map((row) => row[at]));
    for (const [color, width] of [["#000", 3], ["#ffd23f", 1.5]]) {
      pen.strokeStyle = color;
      pen.lineWidth = width;
      for (const line of [...view.points, ...columns]) {
        pen.beginPath();
        line.map(point).forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
        pen.stroke();
      }
    }
  });
  image.src = view.picture;
  const crop = element("img", { src: view.crop, alt: "what the network reads", width: 240 });
  body.append(element("div", { class: "pair" }, [
    element("figure", { class: "stage" }, [canvas, element("figcaption", { text: "the picture, and where it is read" })]),
    element("figure", {}, [crop, element("figcaption", { text: "what the network reads" })]),
  ]));
  return body;
}

const themed = [];
const root = document.documentElement;
root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
const theme = element("button", { type: "button", text: "Light / dark", onclick: () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  themed.forEach((draw) => draw());
} });
const best = facts.answers.length ? facts.answers[0][0] : "";
const main = element("main", {}, [
  element("header", {}, [element("h1", { dir: "auto", text: best || "(no answer)" }), theme]),
  element("p", { class: "asked", dir: "auto", text: facts.asked }),
]);
if (facts.answers.length) {
  main.append(element("table", { class: "answers" }, [
    element("tr", {}, [element("th", { text: "answer" }), element("th", { text: facts.unit })]),
    ...facts.answers.map(([text, score]) => element("tr", {}, [element("td", { dir: "auto", text }), element("td", { text: score.toFixed(facts.unit === "probability" ? 3 : 2) })])),
  ]));
}
facts.notes.forEach((note) => main.append(element("p", { class: "said", text: note })));
const kinds = { tokens, picture, shaded, sampling };
facts.views.forEach((view) => main.append(kinds[view.type](view)));
document.body.append(main);
