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

/* reader(layer, head, row): Float32Array of packed weights; a head of null is the mean of all. */
function reader(view, rows, columns) {
  const values = bytes(view.weights.values), largest = view.weights.largest;
  const places = view.weights.places ? new DataView(bytes(view.weights.places).buffer) : null;
  const negative = view.weights.negative ? bytes(view.weights.negative) : null;
  const kept = values.length / Math.max(1, view.layers * view.heads * rows);
  function add(found, layer, head, place, share) {
    const start = ((layer * view.heads + head) * rows + place) * kept;
    for (let at = 0; at < kept; at++) {
      const column = places ? places.getUint16(2 * (start + at), true) : at;
      const weight = (values[start + at] / 255) ** 2 * largest * share;
      found[column] += negative && negative[start + at] ? -weight : weight;
    }
  }
  return function (layer, head, place) {
    const found = new Float32Array(columns);
    const heads = head === null ? [...Array(view.heads).keys()] : [head];
    heads.forEach((each) => add(found, layer, each, place, 1 / heads.length));
    return found;
  };
}

const extreme = (numbers) => numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0);

/* A select with a label; the values are the places of the texts. */
function select(label, texts, first, changed) {
  const box = element("select", { "aria-label": label }, texts.map((text, at) => element("option", { value: at, text })));
  box.value = first;
  box.addEventListener("change", () => changed(Number(box.value)));
  return box;
}

/* Selects of a layer and a head, where there are several, and which are chosen. */
function choices(view, controls, changed) {
  const chosen = { layer: view.layers - 1, head: view.heads > 1 ? null : 0, mark: () => {} };
  const named = (label, count) => [...Array(count).keys()].map((at) => `${label} ${at + 1}`);
  const boxes = [];
  if (view.layers > 1) {
    boxes[0] = select(view.layer || "layer", named(view.layer || "layer", view.layers), chosen.layer, (at) => choose(at, chosen.head));
  }
  if (view.heads > 1) {
    const texts = ["mean of heads", ...named("head", view.heads)];
    boxes[1] = select("head", texts, 0, (at) => choose(chosen.layer, at ? at - 1 : null));
  }
  function choose(layer, head) {
    Object.assign(chosen, { layer, head });
    if (boxes[0]) boxes[0].value = layer;
    if (boxes[1]) boxes[1].value = head === null ? 0 : head + 1;
    chosen.mark();
    changed();
  }
  controls.append(...boxes.filter(Boolean));
  return Object.assign(chosen, { choose });
}

/* A grid of small canvases, one for each layer and head; a click chooses one. */
function headGrid(view, chosen, width, height, paint) {
  const grid = element("div", { class: "grid", role: "group", "aria-label": "heads" });
  const cells = [];
  for (let layer = 0; layer < view.layers; layer++) {
    for (let head = 0; head < view.heads; head++) {
      const name = `${view.layers > 1 ? `${view.layer || "layer"} ${layer + 1}, ` : ""}head ${head + 1}`;
      const canvas = element("canvas", { width, height, "aria-hidden": true });
      const button = element("button", { type: "button", class: "head", "aria-label": name, onclick: () => chosen.choose(layer, head) }, [canvas, element("span", { text: name })]);
      cells.push({ layer, head, canvas, button });
      grid.append(button);
    }
  }
  chosen.mark = () => cells.forEach(({ layer, head, button }) => button.setAttribute("aria-pressed", layer === chosen.layer && head === chosen.head));
  chosen.mark();
  return { grid, draw: () => cells.forEach(({ layer, head, canvas }) => paint(canvas, layer, head)) };
}

/* A row of words that one steps through: hover, tap, arrow keys; Escape lets go. */
function wordRow(words, label, look, list = false) {
  const row = element("div", { class: list ? "words list" : "words", role: "group", "aria-label": label });
  let pinned = null;
  const buttons = words.map((word, at) => element("button", {
    class: "word", type: "button", dir: "auto", text: word || "\u2423", tabindex: at ? -1 : 0,
    onmouseenter: () => { if (pinned === null) look(at); },
    onfocus: () => { if (pinned !== at) { pin(null); look(at); } },
    onclick: () => { pin(pinned === at ? null : at); look(at); },
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

/* A number with so many digits, never a negative zero. */
function rounded(number, digits) {
  return number.toFixed(digits).replace(/^-(0\.?0*)$/, "$1");
}

/* A color of a number: of the theme's heat above 0, of its cold below. */
function tint(number, largest, strength) {
  const share = largest > 0 ? Math.abs(number) / largest : 0;
  return `rgba(var(${number < 0 ? "--cold" : "--heat"}), ${(strength * share).toFixed(3)})`;
}

function shade(button, weight, largest) {
  button.style.background = weight ? tint(weight, largest, 0.75) : "";
}

function spoken(word, names, weights) {
  const best = [...weights.keys()].sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a])).slice(0, 3);
  const parts = best.filter((at) => weights[at]).map((at) => `${names[at]} ${rounded(weights[at], 2)}`);
  return `${word}: ${parts.join(", ") || "nothing"}`;
}

const HEAT = [[0, 0, 4], [87, 16, 110], [188, 55, 84], [249, 142, 9], [252, 255, 164]];
/* Color of a share from 0 to 1, as in matplotlib's inferno. */
function heat(share) {
  const at = Math.min(HEAT.length - 1.001, Math.max(0, share) * (HEAT.length - 1));
  const low = Math.floor(at);
  return HEAT[low].map((value, place) => Math.round(value + (HEAT[low + 1][place] - value) * (at - low)));
}

/* A section with a heading, what its numbers mean, controls and a line that is spoken. */
function section(view) {
  const controls = element("div", { class: "controls" });
  const said = element("p", { class: "said", role: "status", "aria-live": "polite" });
  const body = element("section", { "aria-label": view.name }, [element("h2", { text: view.name })]);
  const meaning = element("p", { class: "meaning", text: view.meaning || "" });
  return { body, controls, said, meaning };
}

function scaleBar(view, color, low, high) {
  const bar = element("canvas", { width: 120, height: 10, "aria-hidden": true }), brush = bar.getContext("2d");
  for (let x = 0; x < 120; x++) { brush.fillStyle = color(x / 119); brush.fillRect(x, 0, 1, 10); }
  const least = element("span", { text: low }), most = element("span", { text: high });
  return { bar: element("span", { class: "scale" }, [least, bar, most]), most };
}

function tokens(view) {
  const { body, controls, said, meaning } = section(view);
  const weights = reader(view, view.rows.length, view.columns.length);
  const chosen = choices(view, controls, () => { show(looking); draw(); });
  const isLong = view.columns.some((word) => word.length > 30);
  const looks = wordRow(view.rows, view.titles[0], (at) => show(at === null ? null : { row: at }));
  const seen = wordRow(view.columns, view.titles[1], (at) => show(at === null ? null : { column: at }), isLong);
  const matrix = element("div", { class: "matrix" });
  let looking = null;

  function show(place) {
    looking = place;
    looks.buttons.forEach((button, at) => { button.style.background = ""; button.classList.toggle("active", !!place && place.row === at); });
    seen.buttons.forEach((button, at) => { button.style.background = ""; button.classList.toggle("active", !!place && place.column === at); });
    if (!place) { said.textContent = ""; return; }
    if (place.row !== undefined) {
      seen.release();
      const row = weights(chosen.layer, chosen.head, place.row);
      const largest = extreme(row);
      row.forEach((weight, at) => shade(seen.buttons[at], weight, largest));
      said.textContent = spoken(view.rows[place.row], view.columns, row);
    } else {
      looks.release();
      const column = view.rows.map((_, at) => weights(chosen.layer, chosen.head, at)[place.column]);
      const largest = extreme(column);
      column.forEach((weight, at) => shade(looks.buttons[at], weight, largest));
      said.textContent = spoken(view.columns[place.column], view.rows, column);
    }
  }

  function draw() {
    const short = (word) => (word.length > 28 ? `${word.slice(0, 27)}…` : word);
    const longest = (words) => Math.min(28, Math.max(...words.map((word) => word.length), 1));
    const left = 20 + 7.5 * longest(view.rows), top = 20 + 7 * longest(view.columns);
    const room = Math.max(matrix.clientWidth, 300) - left - 80;
    const size = Math.round(Math.min(44, Math.max(20, room / Math.max(1, view.columns.length))));
    const width = left + size * view.columns.length + 80, height = top + size * view.rows.length + 10;
    const sharp = window.devicePixelRatio || 1;
    const canvas = element("canvas", {
      width: width * sharp, height: height * sharp,
      role: "img", "aria-label": `${view.name}: a row for each word of the ${view.titles[0]}`,
    });
    canvas.style.width = `${width}px`;
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const [ink, hot, cold] = ["--ink", "--heat", "--cold"].map((name) => style.getPropertyValue(name));
    const numbers = view.rows.map((_, at) => weights(chosen.layer, chosen.head, at));
    const largest = Math.max(...numbers.map(extreme), 1e-9);
    pen.scale(sharp, sharp);
    pen.font = "13px system-ui, sans-serif";
    pen.fillStyle = ink;
    view.columns.forEach((word, at) => {
      pen.save();
      pen.translate(left + size * at + size / 2 + 4, top - 6);
      pen.rotate(-Math.PI / 3);
      pen.fillText(short(word), 0, 0);
      pen.restore();
    });
    pen.textAlign = "right";
    view.rows.forEach((word, at) => {
      pen.fillStyle = ink;
      pen.fillText(short(word), left - 6, top + size * at + size / 2 + 4);
      numbers[at].forEach((weight, column) => {
        pen.fillStyle = `rgba(${weight < 0 ? cold : hot}, ${(Math.abs(weight) / largest).toFixed(3)})`;
        pen.fillRect(left + size * column, top + size * at, size - 1, size - 1);
      });
    });
    const place = (event) => ({ column: Math.floor((event.offsetX - left) / size), row: Math.floor((event.offsetY - top) / size) });
    const inside = ({ row, column }) => row >= 0 && column >= 0 && row < view.rows.length && column < view.columns.length;
    canvas.addEventListener("mousemove", (event) => {
      const at = place(event);
      if (inside(at)) said.textContent = `${view.rows[at.row]} → ${view.columns[at.column]}: ${rounded(numbers[at.row][at.column], 3)}`;
    });
    canvas.addEventListener("click", (event) => { if (inside(place(event))) show({ row: place(event).row }); });
    matrix.replaceChildren(canvas);
    scale.most.textContent = `${largest.toFixed(2)} ${view.unit}`;
    scale.bar.firstChild.textContent = view.signed ? `−${largest.toFixed(2)}` : "0";
    if (heads) heads.draw();
  }
  const style = () => getComputedStyle(document.documentElement);
  const scale = scaleBar(view, (at) => {
    const number = view.signed ? 2 * at - 1 : at;
    return `rgba(${style().getPropertyValue(number < 0 ? "--cold" : "--heat")}, ${Math.abs(number)})`;
  }, "0", "");
  controls.append(scale.bar);
  const cell = Math.max(1, Math.min(6, Math.floor(120 / Math.max(view.rows.length, view.columns.length))));
  const heads = view.layers * view.heads < 2 ? null : headGrid(view, chosen, cell * view.columns.length, cell * view.rows.length, (canvas, layer, head) => {
    const pen = canvas.getContext("2d"), hot = style().getPropertyValue("--heat");
    const numbers = view.rows.map((_, at) => weights(layer, head, at));
    const largest = Math.max(...numbers.map(extreme), 1e-9);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    numbers.forEach((row, at) => row.forEach((weight, column) => {
      pen.fillStyle = `rgba(${hot}, ${(weight / largest).toFixed(3)})`;
      pen.fillRect(cell * column, cell * at, cell, cell);
    }));
  });
  drawers.push(draw);
  body.append(
    element("div", { class: "title", text: view.titles[0] }), looks.row,
    element("div", { class: "title", text: view.titles[1] }), seen.row,
    said, controls, element("div", { class: "beside" }, [matrix, ...(heads ? [heads.grid] : [])]), meaning,
  );
  if (view.note) body.append(element("p", { class: "said", text: view.note }));
  if (view.rows.length) show({ row: 0 });
  return body;
}

/* A picture under maps; `detailed`, a view of its heads for the same words, has a grid beside it. */
function picture(view, detailed) {
  const { body, controls, said, meaning } = section(view);
  const [high, wide] = view.grid;
  const canvas = element("canvas", { width: view.width, height: view.height, role: "img", "aria-label": facts.answers.length ? facts.answers[0][0] : facts.asked });
  const pen = canvas.getContext("2d"), image = new Image();
  const maps = (part) => reader(part, part.steps.length, part.grid[0] * part.grid[1]);
  const whole = maps(view), each = maps(detailed);
  const chosen = choices(detailed, controls, () => { isWhole = false; draw(); });
  let isWhole = detailed !== view, timer = null, strength = 0.75, scaled = view.scale === "all";
  let at = view.steps.length ? 0 : null;
  if (isWhole) {
    controls.prepend(element("button", { type: "button", text: "all heads", onclick: () => { isWhole = true; chosen.head = null; chosen.mark(); draw(); } }));
  }
  const map = (place) => (isWhole ? whole(0, 0, place) : each(chosen.layer, chosen.head, place));
  view.steps.forEach((_, place) => { if (extreme(map(place)) > extreme(map(at))) at = place; });
  const words = wordRow(view.steps, "words of the answer", (place) => { at = place; draw(); });
  const tallest = () => view.steps.reduce((most, _, place) => Math.max(most, extreme(map(place))), 0);

  function overlay(target, weights, [rows, columns], largest) {
    const small = element("canvas", { width: columns, height: rows }), cells = small.getContext("2d");
    const pixels = cells.createImageData(columns, rows);
    weights.forEach((weight, place) => {
      const share = Math.max(0, weight) / largest;
      pixels.data.set([...heat(share), Math.round(255 * strength * (0.2 + 0.8 * share))], 4 * place);
    });
    cells.putImageData(pixels, 0, 0);
    target.imageSmoothingEnabled = true;
    target.imageSmoothingQuality = "high";
    target.drawImage(small, 0, 0, target.canvas.width, target.canvas.height);
  }

  /* The picture; in gray below a map, whose colors are then seen. */
  function drawPicture(target, isGray) {
    target.filter = isGray ? "grayscale(0.85)" : "none";
    target.drawImage(image, 0, 0, target.canvas.width, target.canvas.height);
    target.filter = "none";
  }

  function draw() {
    drawPicture(pen, at !== null);
    words.buttons.forEach((button, place) => button.classList.toggle("active", place === at));
    if (heads) heads.draw();
    if (at === null) { said.textContent = "Choose a word to see where the model looked, or press Play."; return; }
    const weights = map(at), most = extreme(weights), largest = Math.max(scaled ? tallest() : most, 1e-9);
    overlay(pen, weights, view.grid, largest);
    scale.most.textContent = `${largest.toFixed(2)} ${view.unit}`;
    const peak = weights.indexOf(Math.max(...weights));
    const across = ["left", "middle", "right"][Math.floor((3 * ((peak % wide) + 0.5)) / wide)];
    const down = ["top", "middle", "bottom"][Math.floor((3 * (Math.floor(peak / wide) + 0.5)) / high)];
    const place = down === across ? "center" : `${down} ${across}`;
    said.textContent = `${view.steps[at]}: most at the ${place}, ${rounded(weights[peak], 2)} (${view.unit})`;
  }
  const tile = { width: 132, height: Math.round((132 * view.height) / view.width) };
  const heads = detailed.layers * detailed.heads < 2 ? null : headGrid(detailed, chosen, tile.width, tile.height, (small, layer, head) => {
    const target = small.getContext("2d");
    drawPicture(target, at !== null);
    if (at === null) return;
    const weights = each(layer, head, at);
    overlay(target, weights, detailed.grid, Math.max(extreme(weights), 1e-9));
  });
  image.addEventListener("load", draw);
  image.src = facts.pictures[view.picture];
  const play = element("button", { type: "button", text: "Play", onclick: () => {
    if (timer) { clearInterval(timer); timer = null; play.textContent = "Play"; return; }
    play.textContent = "Stop";
    at = -1;
    const next = () => {
      at += 1;
      if (at >= view.steps.length) { at = view.steps.length - 1; clearInterval(timer); timer = null; play.textContent = "Play"; }
      draw();
    };
    next();
    timer = setInterval(next, 900);
  } });
  if (view.steps.length > 1) {
    controls.append(play, select("color scale", ["scale: each word", "scale: all words"], scaled ? 1 : 0, (all) => { scaled = all === 1; draw(); }));
  }
  const slider = element("input", { type: "range", min: 0, max: 100, value: 75, "aria-label": "opacity of the map", oninput: () => { strength = slider.value / 100; draw(); } });
  const scale = scaleBar(view, (share) => `rgb(${heat(share)})`, "0", "");
  controls.append(element("label", { class: "scale" }, ["opacity", slider]), scale.bar);
  canvas.style.width = `min(100%, ${Math.round((68 * view.width) / view.height)}vh)`;
  const stage = element("div", { class: "stage" }, [canvas]);
  stage.style.flex = `0 1 ${Math.round((68 * view.width) / view.height)}vh`;
  body.append(words.row, said, controls, element("div", { class: "beside" }, [stage, ...(heads ? [heads.grid] : [])]), meaning);
  return body;
}

function shaded(view) {
  const { body, controls, said, meaning } = section(view);
  const largest = extreme(view.weights);
  const words = wordRow(view.words, view.name, (at) => {
    said.textContent = at === null ? "" : `${view.words[at]}: ${rounded(view.weights[at], 3)}`;
  });
  words.buttons.forEach((button, at) => shade(button, view.weights[at], largest));
  const least = view.signed ? `−${largest.toFixed(2)}` : "0";
  const scale = scaleBar(view, (share) => {
    const number = view.signed ? 2 * share - 1 : share;
    const color = getComputedStyle(document.documentElement).getPropertyValue(number < 0 ? "--cold" : "--heat");
    return `rgba(${color}, ${0.75 * Math.abs(number)})`;
  }, least, `${largest.toFixed(2)} ${view.unit}`);
  controls.append(scale.bar);
  body.append(words.row, said, controls, meaning);
  return body;
}

function sampling(view) {
  const { body, meaning } = section(view);
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
  image.src = facts.pictures[view.picture];
  const crop = element("img", { src: view.crop, alt: "what the network reads", class: "crop" });
  body.append(element("div", { class: "pair" }, [
    element("figure", { class: "stage" }, [canvas, element("figcaption", { text: "the picture, and where it is read" })]),
    element("figure", { class: "cropped" }, [crop, element("figcaption", { text: `what the network reads${view.label ? `, ${view.label}` : ""}` })]),
  ]), meaning);
  canvas.style.width = `min(100%, ${Math.round((60 * view.width) / view.height)}vh)`;
  return body;
}

let drawers = [];
const redraw = () => drawers.forEach((draw) => draw());
const root = document.documentElement;
root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
addEventListener("resize", redraw);
const theme = element("button", { type: "button", text: "Light / dark", onclick: () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  redraw();
} });
const kinds = { tokens, shaded, sampling };
const sections = element("div"), title = element("h1", { dir: "auto" });
const answers = element("div", { class: "answers", role: "group", "aria-label": "answers" });
const letters = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/* Views of an answer; one of heads stands beside the one before it that has the same words. */
function sectionsOf(views) {
  const made = [];
  views.forEach((view, at) => {
    if (view.type !== "picture") { made.push(kinds[view.type](view)); return; }
    const isMap = (other) => other && other.type === "picture" && String(other.steps) === String(view.steps);
    const isDetailed = view.layers * view.heads > 1;
    const before = views[at - 1], after = views[at + 1];
    if (isDetailed && isMap(before) && before.layers * before.heads === 1 && before.unit === view.unit) return;
    const beside = !isDetailed && isMap(after) && after.layers * after.heads > 1 && after.unit === view.unit;
    made.push(picture(view, beside ? after : view));
  });
  return made;
}

/* Shows one of the answers, which is heard and read once: by its words, where a view has them. */
function answer(place) {
  const [text, score] = facts.answers[place] || ["(no answer)", null];
  const views = place ? facts.other_views[place - 1] : facts.views;
  drawers = [];
  const words = views.length ? views[0].steps || views[0].rows || [] : [];
  title.textContent = text || "(no answer)";
  title.classList.toggle("unseen", words.length > 0 && letters(words.join("")) === letters(text));
  const named = (value) => `${rounded(value, facts.unit === "probability" ? 3 : 2)} ${facts.unit}`;
  const can = facts.other_views.length > 0;
  answers.replaceChildren(...facts.answers.map(([other, value], at) => (at === place
    ? element("span", { class: "score", text: `${facts.answers.length > 1 ? `answer ${at + 1}: ` : ""}${named(score)}` })
    : element(can ? "button" : "span", { type: "button", class: "other", onclick: () => can && answer(at) }, [
      element("bdi", { text: `${at + 1}. ${other}` }), element("span", { class: "score", text: named(value) }),
    ]))));
  sections.replaceChildren(...sectionsOf(views));
  redraw();
}
document.body.append(element("main", {}, [
  element("header", {}, [element("div", {}, [
    title, element("p", { class: "asked", dir: "auto", text: facts.asked }), answers,
  ]), theme]),
  ...facts.notes.map((note) => element("p", { class: "said", text: note })),
  sections,
]));
answer(0);
