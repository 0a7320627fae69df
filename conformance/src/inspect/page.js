"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const tabs = [...document.querySelectorAll("[role=tab]")];
const where = document.getElementById("where");
const source = document.getElementById("source");
const details = document.getElementById("details");
const CONTEXT = 3;

function open(tab) {
  for (const t of tabs) {
    const chosen = t === tab;
    const panel = document.getElementById(t.getAttribute("aria-controls"));
    t.setAttribute("aria-selected", chosen);
    t.tabIndex = chosen ? 0 : -1;
    panel.classList.toggle("open", chosen);
    if (chosen) {
      document.getElementById("zoom").style.display = panel.querySelector(".drawing") ? "flex" : "none";
      history.replaceState(null, "", "#" + panel.id);
    }
  }
}

// The keys of the pattern "tabs" of WAI-ARIA.
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const at = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs[(to + tabs.length) % tabs.length];
  open(tab);
  tab.focus();
});
for (const tab of tabs) tab.addEventListener("click", () => open(tab));

let shown = null;
function show(element) {
  if (element === shown) return;
  if (shown) shown.classList.remove("at");
  shown = element;
  element.classList.add("at");
  const [file, line, column] = (element.dataset.at || "::").split(":").map(Number);
  source.replaceChildren();
  if (!element.dataset.at) {
    where.textContent = "Made by a pass";
  } else {
    const name = data.files[file].name;
    where.textContent = `${name.split(/[/\\]/).pop()}:${line}:${column}`;
    where.title = name;
    const lines = data.files[file].lines;
    for (let n = Math.max(1, line - CONTEXT); n <= Math.min(lines.length, line + CONTEXT); n++) {
      const row = document.createElement("span");
      row.textContent = `${String(n).padStart(4)}  ${lines[n - 1]}\n`;
      if (n === line) row.className = "here";
      source.append(row);
    }
  }
  details.replaceChildren();
  for (const [name, value] of data.details[element.dataset.key] || []) {
    const [term, description] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    description.textContent = value;
    details.append(term, description);
  }
}
const panels = document.getElementById("panels");
for (const kind of ["mouseover", "focusin"]) {
  panels.addEventListener(kind, (event) => {
    const element = event.target.closest("[data-key], [data-at]");
    if (element) show(element);
  });
}

document.getElementById("scale").addEventListener("input", (event) => {
  for (const svg of document.querySelectorAll(".drawing")) {
    svg.setAttribute("width", svg.viewBox.baseVal.width * event.target.value);
    svg.setAttribute("height", svg.viewBox.baseVal.height * event.target.value);
  }
});

open(tabs.find((t) => "#" + t.getAttribute("aria-controls") === location.hash) || tabs[0]);
