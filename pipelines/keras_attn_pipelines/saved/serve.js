"use strict";
const part = (id) => document.getElementById(id);
const takesPictures = document.body.dataset.kind.includes("picture");
const said = part("said"), example = part("example");
let asking = null;

function say(text, isError = false) {
  said.textContent = text;
  said.classList.toggle("error", isError);
}

/* Asks, and shows the answer in a new frame: Chromium lays nothing out in one that was hidden. */
async function ask(body) {
  if (asking) asking.abort();
  const mine = new AbortController();
  asking = mine;
  say("Asking …");
  try {
    const by = part("by").checked ? "occlusion" : "attention";
    const response = await fetch(`explore?by=${by}`, { method: "POST", body, signal: mine.signal });
    const text = await response.text();
    if (!response.ok) {
      let reason = `HTTP ${response.status}`;
      try { reason = JSON.parse(text).error || reason; } catch { /* Not JSON: the status says it. */ }
      throw new Error(reason);
    }
    const frame = document.createElement("iframe");
    frame.title = "Answer, and where the model looked";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.srcdoc = text;
    part("shown").replaceChildren(frame);
    say("");
  } catch (error) {
    if (error.name === "AbortError") return;
    part("shown").replaceChildren();
    say(error.message, true);
  }
}

/* A file that was dropped, pasted or chosen: a picture, or for other models a text. */
async function askFile(file) {
  if (!file) return;
  if (takesPictures) { ask(file); return; }
  part("text").value = await file.text();
  ask(part("text").value);
}

async function askExample() {
  if (takesPictures) { ask(await (await fetch("example")).blob()); return; }
  part("text").value = example.dataset.text;
  ask(part("text").value);
}

const box = part(takesPictures ? "picture-box" : "text-box");
box.hidden = false;
document.querySelector("button[type=submit]").hidden = takesPictures;
part("by-box").hidden = !document.body.dataset.kind.includes("scored");
example.hidden = !(takesPictures || example.dataset.text);
example.addEventListener("click", askExample);
part("picture").addEventListener("change", (event) => askFile(event.target.files[0]));
const hasFiles = (event) => event.dataTransfer.types.includes("Files");
for (const name of ["dragenter", "dragover"]) {
  document.addEventListener(name, (event) => { if (hasFiles(event)) { event.preventDefault(); box.classList.add("over"); } });
}
for (const name of ["dragleave", "drop"]) {
  document.addEventListener(name, (event) => { if (hasFiles(event)) { event.preventDefault(); box.classList.remove("over"); } });
}
document.addEventListener("drop", (event) => askFile(event.dataTransfer.files[0]));
document.addEventListener("paste", (event) => askFile(event.clipboardData.files[0]));
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(part("text").value);
});
part("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(part("text").value);
});
