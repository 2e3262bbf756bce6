"use strict";
const part = (id) => document.getElementById(id);
const takesPictures = document.body.dataset.kind === "picture";
const said = part("said"), shown = part("shown");
let asking = null;

async function ask(body) {
  if (asking) asking.abort();
  const mine = new AbortController();
  asking = mine;
  said.textContent = "Asking …";
  try {
    const response = await fetch("explore", { method: "POST", body, signal: mine.signal });
    const text = await response.text();
    if (!response.ok) {
      let reason = `HTTP ${response.status}`;
      try { reason = JSON.parse(text).error || reason; } catch { /* Not JSON: the status says it. */ }
      throw new Error(reason);
    }
    shown.srcdoc = text;
    shown.hidden = false;
    said.textContent = "";
  } catch (error) {
    if (error.name === "AbortError") return;
    shown.hidden = true;
    said.textContent = error.message;
  }
}

if (takesPictures) {
  const box = part("picture-box");
  box.hidden = false;
  part("picture").addEventListener("change", (event) => event.target.files[0] && ask(event.target.files[0]));
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => { event.preventDefault(); box.classList.add("over"); });
  }
  for (const name of ["dragleave", "drop"]) {
    document.addEventListener(name, (event) => { event.preventDefault(); box.classList.remove("over"); });
  }
  document.addEventListener("drop", (event) => event.dataTransfer.files[0] && ask(event.dataTransfer.files[0]));
} else {
  part("text-box").hidden = false;
  document.querySelector("button").hidden = false;
}
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(part("text").value);
});
part("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(part("text").value);
});
