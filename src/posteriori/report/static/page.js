"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const read = (id) => ($(id) ? JSON.parse($(id).textContent) : null);
  const words = read("words"), model = read("model"), root = document.documentElement;
  let tongue = 0; // 0 English, 1 Chinese

  const fill = (sentence, parts) => sentence.replace(/\{(\d+)\}/g, (_, i) => parts[+i] ?? "");
  const say = (key, ...parts) => fill(words[key][tongue], parts);

  function speak() {
    root.lang = tongue ? "zh-CN" : "en";
    for (const e of document.querySelectorAll("[data-w]")) e.textContent = say(e.dataset.w, ...JSON.parse(e.dataset.a ?? "[]"));
    for (const e of document.querySelectorAll("[data-l]")) {
      e.setAttribute("aria-label", say(e.dataset.l, ...(e.dataset.la === undefined ? [] : [e.dataset.la])));
    }
    $("language").lang = tongue ? "en" : "zh";
    if (model) show();
  }
  $("language").addEventListener("click", () => { tongue = 1 - tongue; speak(); });
  $("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  $("pick")?.addEventListener("change", (event) => {
    for (const e of document.querySelectorAll(".pair-drawing")) e.hidden = e.id !== event.target.value;
  });
  if (!model) return;

  // ln P(y, x) = ln P(y) + Σ_j ln θ_j[x_parent, x_j, y]; what is not chosen is summed out, from the leaves to the roots.
  const K = model.classes.length, attributes = model.attributes;
  for (const a of attributes) a.table = Float64Array.from(a.table, (v) => (v === null ? -Infinity : v));
  const prior = model.prior.map((v) => (v === null ? -Infinity : v));
  const children = attributes.map(() => []);
  attributes.forEach((a, j) => { if (a.parent >= 0) children[a.parent].push(j); });
  const chosen = attributes.map(() => null);

  function logSum(terms) {
    const top = Math.max(...terms);
    return top === -Infinity ? top : top + Math.log(terms.reduce((sum, t) => sum + Math.exp(t - top), 0));
  }
  const theta = (j, p, v, y) => attributes[j].table[((attributes[j].parent < 0 ? 0 : p) * attributes[j].values + v) * K + y];

  function message(j, p, y, given) { // ln P(what is chosen at j and below | the parent's value p, y)
    const v = given[j], below = children[j];
    const whole = (value) => below.reduce((sum, c) => sum + message(c, value, y, given), theta(j, p, value, y));
    if (v !== null) return whole(v);
    if (!below.some((c) => depends(c, given))) return 0;
    return logSum(Array.from({ length: attributes[j].values }, (_, value) => whole(value)));
  }
  const depends = (j, given) => given[j] !== null || children[j].some((c) => depends(c, given));

  function joint(given) {
    const roots = attributes.flatMap((a, j) => (a.parent < 0 ? [j] : []));
    return prior.map((start, y) => roots.reduce((sum, j) => sum + message(j, 0, y, given), start));
  }
  function posteriorOf(log) {
    const top = Math.max(...log);
    if (top === -Infinity) return null;
    const p = log.map((v) => Math.exp(v - top)), total = p.reduce((a, b) => a + b, 0);
    return p.map((v) => v / total);
  }

  function losses() {
    const table = model.loss.map((row) => [...row]);
    for (const e of document.querySelectorAll("input.loss")) {
      if (e.value !== "" && Number.isFinite(+e.value)) table[+e.dataset.a][+e.dataset.y] = +e.value;
    }
    const price = $("reject").value;
    const reject = price !== "" && Number.isFinite(+price);
    if (reject) table.push(Array(K).fill(+price));
    return [table, reject];
  }

  const percent = (p) => p === 0 || p === 1 ? `${100 * p}%` : p < 5e-4 ? "<0.1%" : p > 0.9995 ? ">99.9%" : `${(100 * p).toFixed(1)}%`;
  const short = (v) => (v === 0 ? "0" : Math.abs(v) >= 1e6 || Math.abs(v) < 1e-3 ? v.toExponential(2) : String(+v.toFixed(3)));

  function show() {
    const log = joint(chosen), p = posteriorOf(log);
    const box = $("posterior");
    box.replaceChildren();
    const panel = $("decision").parentElement;
    if (p === null) {
      $("decision").textContent = say("impossible");
      $("risk").textContent = "";
      weigh(null);
      return;
    }
    const order = p.map((_, y) => y);
    if (K > 8) order.sort((a, b) => p[b] - p[a]);
    const best = p.indexOf(Math.max(...p));
    const rank = p.map((_, y) => y).sort((a, b) => p[b] - p[a]);
    for (const y of order.slice(0, 8)) {
      const row = document.createElement("div"), label = document.createElement("bdi"), share = document.createElement("span");
      const track = document.createElement("span"), bar = document.createElement("span");
      row.className = y === best ? "row best" : "row";
      row.dataset.p = String(p[y]);
      row.dataset.y = String(y);
      row.dataset.rank = String(rank.indexOf(y));
      label.textContent = model.classes[y];
      share.className = "p";
      share.textContent = percent(p[y]);
      share.title = String(p[y]);
      track.className = "track";
      bar.style.width = `${100 * p[y]}%`;
      track.append(bar);
      row.append(label, share, track);
      box.append(row);
    }
    const [table, reject] = losses();
    const risks = table.map((row) => row.reduce((sum, loss, y) => sum + loss * p[y], 0));
    const size = Math.max(...table.flat().map(Math.abs), 1e-300);
    const least = Math.min(...risks);
    const action = risks.findIndex((r) => r <= least + 4e-15 * size);
    const left = reject && action === table.length - 1;
    $("decision").textContent = left ? say("leave") : model.actions[action];
    $("decision").dataset.action = String(action);
    panel.classList.toggle("left", left);
    $("risk").textContent = `${say("expected_loss")} ${short(risks[action])}`;
    weigh(p);
  }

  // What each choice adds to the log-odds of the best class against the next: with it, less without it.
  function weigh(p) {
    const order = p ? p.map((_, y) => y).sort((a, b) => p[b] - p[a]) : [0, 1];
    const odds = (given) => { const l = joint(given); return l[order[0]] - l[order[1]]; };
    const all = p ? odds(chosen) : NaN;
    const parts = chosen.map((v, j) => {
      if (v === null || !p) return 0;
      const rest = chosen.with ? chosen.with(j, null) : chosen.map((w, i) => (i === j ? null : w));
      return all - odds(rest);
    });
    const top = Math.max(1, ...parts.filter(Number.isFinite).map(Math.abs));
    parts.forEach((part, j) => {
      const bar = $(`w${j}`), share = Number.isFinite(part) ? Math.abs(part) / top : 0;
      bar.style.width = `${50 * share}%`;
      bar.style.left = part < 0 ? `${50 - 50 * share}%` : "50%";
      bar.className = part < 0 ? "minus" : "";
      bar.parentElement.title = chosen[j] === null || !p ? "" : `${say("says", model.classes[order[part < 0 ? 1 : 0]])}: ${short(Math.abs(part))}`;
    });
  }

  function choose(j, value) {
    chosen[j] = value;
    const field = $(`a${j}`), known = value !== null;
    $(`c${j}`).classList.toggle("set", known);
    field.closest(".choice").querySelector(".clear").hidden = !known;
    if (attributes[j].number) {
      const out = $(`o${j}`);
      if (known) { delete out.dataset.w; out.textContent = attributes[j].labels[value]; }
      else { out.dataset.w = "unknown"; out.textContent = say("unknown"); }
      field.setAttribute("aria-valuetext", out.textContent);
    } else field.value = known ? String(value) : "";
    if (attributes[j].number && known) field.value = String(value);
  }
  // A date and its parts agree: the date settles what it leaves no choice, and what contradicts it makes it unknown.
  function agree(j) {
    attributes.forEach((a, k) => {
      if (a.of !== j) return;
      const can = chosen[j] === null ? [] : a.can[chosen[j]];
      if (can !== null && !can.includes(chosen[k])) choose(k, can.length === 1 ? can[0] : null);
    });
    const d = attributes[j].of;
    if (d === undefined || chosen[d] === null) return;
    const can = attributes[j].can[chosen[d]];
    if (can !== null && (chosen[j] === null ? can.length === 1 : !can.includes(chosen[j]))) choose(d, null);
  }
  for (const field of document.querySelectorAll(".choices [data-j]:not(.clear)")) {
    const j = +field.dataset.j;
    field.addEventListener("input", () => { choose(j, field.value === "" ? null : +field.value); agree(j); show(); });
    if (attributes[j].number) field.setAttribute("aria-valuetext", say("unknown"));
  }
  for (const button of document.querySelectorAll(".clear")) {
    button.addEventListener("click", () => {
      choose(+button.dataset.j, null);
      agree(+button.dataset.j);
      $(`a${button.dataset.j}`).focus();
      show();
    });
  }
  $("again").addEventListener("click", () => { attributes.forEach((_, j) => choose(j, null)); show(); });
  document.querySelector(".choices").addEventListener("submit", (event) => event.preventDefault());
  for (const e of document.querySelectorAll("input.loss, #reject")) e.addEventListener("input", show);
  $("chooser").hidden = false;
  show();
})();
