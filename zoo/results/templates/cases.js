"use strict";

const CHUNK = 48; // cards that are laid out together
const MANY = 12; // cases that a metric has, where the page begins with it
const NEAR = "1500px 0px"; // how far off the screen cards are laid out
const CONTROLS = ["a", "b", "show", "benchmark", "subset", "metric", "split", "leak", "sort"];
const SHOWS = {
  all: () => true,
  wrong: (a) => a === "0",
  right: (a) => a === "1",
  gained: (a, b) => a === "0" && b === "1",
  lost: (a, b) => a === "1" && b === "0",
  both: (a, b) => a === "0" && b === "0",
  apart: (a, b) => a !== b && a !== "-" && b !== "-",
};
const ORDERS = {
  low: (a) => a,
  near: (a) => Math.abs(a),
  high: (a) => -a,
  gain: (a, b) => a - b,
  loss: (a, b) => b - a,
};
const control = (name) => document.getElementById(name);

let index; // all answers: right or wrong, margins, where their texts are
const waiting = new Map(); // what is done with a page of cases that is loaded
const loaded = new Map();

const patchMaps = new Map(); // words and patches of a run and a metric, and what waits for them

// The functions that files of data call.
const zoo = {
  index(found) {
    index = found;
    start();
  },
  page(number, rows) {
    waiting.get(number)(rows);
  },
  patches(run, part, maps) {
    patchMaps.get(`${run}_${part}`).resolve(maps);
  },
};

function script(source, reject) {
  const made = document.createElement("script");
  made.src = source;
  made.onerror = () => reject(new Error(`${made.src} is gone`));
  document.head.append(made);
}

function page(number) {
  if (!loaded.has(number)) {
    loaded.set(number, new Promise((resolve, reject) => {
      waiting.set(number, resolve);
      script(`data/cases_${number}.js`, reject);
    }));
  }
  return loaded.get(number);
}

// What is asked: the controls, and the metrics of an average, kept in the address.
let members = null;
let named = "";

function asked() {
  const state = {};
  for (const name of CONTROLS) if (control(name)) state[name] = control(name).value;
  return state;
}

function start() {
  fill("benchmark", index.parts.map((part) => part[0]));
  if (index.split) {
    control("familiar").hidden = false;
    fill("split", index.split.filter(Boolean));
  }
  control("leaks").hidden = !index.leak;
  for (const name of CONTROLS) {
    control(name)?.addEventListener("change", () => {
      if (["benchmark", "subset", "metric"].includes(name)) members = null;
      narrow();
      remember();
      show();
    });
  }
  control("members").addEventListener("click", () => {
    members = null;
    remember();
    show();
  });
  addEventListener("hashchange", recall);
  addEventListener("keydown", leap);
  recall();
}

// Home and End leap: a browser's glide past chunks whose heights change on the way ends short.
function leap(event) {
  if (event.target.closest("select") || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.key === "Home") scrollTo({ top: 0, behavior: "instant" });
  else if (event.key === "End") scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else return;
  event.preventDefault();
}

function fill(name, values) {
  const select = control(name);
  const before = select.value;
  const distinct = [...new Set(values)];
  select.replaceChildren(...["", ...distinct].map((value) => {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = value || "all";
    return option;
  }));
  select.value = distinct.includes(before) ? before : "";
}

// Subsets and metrics are those of the benchmark and subset that are chosen.
function narrow() {
  const of = index.parts.filter((part) => ["", part[0]].includes(control("benchmark").value));
  fill("subset", of.map((part) => part[1]));
  fill("metric", of.filter((part) => ["", part[1]].includes(control("subset").value)).map((part) => part[2]));
}

function recall() {
  const given = new URLSearchParams(location.hash.slice(1));
  members = given.has("in") ? new Set(given.get("in").split(",").map(Number)) : null;
  named = given.get("name") ?? "";
  for (const name of CONTROLS) {
    if (name === "subset" || name === "metric") narrow();
    const select = control(name);
    if (!select) continue;
    const options = [...select.options];
    const wanted = options.find((option) => option.value === given.get(name));
    select.value = (wanted ?? options.find((option) => option.defaultSelected) ?? options[0])?.value ?? "";
  }
  // a run is looked at beside the first, to which the others are compared
  if (control("b") && !given.has("b")) control("b").value = control("a").value === "0" ? "1" : "0";
  if (!location.hash) beginWithOneMetric();
  show();
}

// Metrics have margins of their own kinds, so that the page begins with one: the first of many cases,
// else that of the most.
function beginWithOneMetric() {
  const [a, b] = ["a", "b"].map((name) => Number(control(name)?.value ?? 0));
  const keep = SHOWS[control("show").value];
  const kept = index.parts.map(([, , , start, n]) => {
    let found = 0;
    for (let i = start; i < start + n; i++) if (keep(index.right[a][i], index.right[b][i])) found++;
    return found;
  });
  const enough = kept.findIndex((n) => n >= MANY);
  const [benchmark, subset, metric] = index.parts[enough < 0 ? kept.indexOf(Math.max(...kept)) : enough];
  control("benchmark").value = benchmark;
  narrow();
  control("subset").value = subset;
  narrow();
  control("metric").value = metric;
}

function remember() {
  const state = new URLSearchParams();
  if (members) {
    state.set("in", [...members].join(","));
    state.set("name", named);
  }
  for (const [name, value] of Object.entries(asked())) if (value !== "") state.set(name, value);
  history.pushState(null, "", `#${state}`); // unlike a change of location, it calls no recall
}

// Lays out the cases that are asked for, a chunk at a time as it comes near the screen.
let watcher;
let shown = []; // numbers of the answers, in their order

function show() {
  const state = asked();
  const [a, b] = [Number(state.a), Number(state.b ?? state.a)];
  const keep = SHOWS[state.show];
  shown = [];
  const tally = { asked: 0, right: [0, 0], scored: [0, 0], metrics: new Set(), graded: false };
  index.parts.forEach(([benchmark, subset, metric, start, n, graded], number) => {
    if (members && !members.has(number)) return;
    if (![benchmark, ""].includes(state.benchmark) || ![subset, ""].includes(state.subset)) return;
    if (![metric, ""].includes(state.metric)) return;
    tally.graded ||= graded;
    tally.metrics.add(metric);
    for (let i = start; i < start + n; i++) {
      if (state.split && index.split[i] !== state.split) continue;
      if (state.leak && index.leak?.[a][i] !== state.leak) continue;
      const [one, other] = [index.right[a][i], index.right[b][i]];
      tally.asked++;
      [one, other].forEach((answer, run) => {
        tally.right[run] += answer === "1";
        tally.scored[run] += answer !== "-";
      });
      if (keep(one, other)) shown.push(i);
    }
  });
  // what has no margin comes last
  const margin = (run, i) => (index.right[run][i] === "-" ? NaN : index.margin[run][i] ?? NaN);
  const place = (key) => (Number.isNaN(key) ? Number.MAX_VALUE : key);
  const key = new Map(shown.map((i) => [i, place(ORDERS[state.sort](margin(a, i), margin(b, i)))]));
  shown.sort((x, y) => key.get(x) - key.get(y) || x - y);
  const rightIn = (name, run) => {
    const [right, scored] = [tally.right[run], tally.scored[run]];
    const share = scored ? ` (${(100 * right / scored).toFixed(1)} %)` : "";
    return `${name} is right in ${right.toLocaleString("en")} of ${scored.toLocaleString("en")}${share}`;
  };
  const what = tally.metrics.size > 1 ? "answer" : "case";
  const about = [state.benchmark, state.subset, state.metric, state.split, leakWords()].filter(Boolean).join("/");
  control("count").textContent = `${about && `${about}: `}${count(shown.length, what)} of ${tally.asked.toLocaleString("en")} shown. `
    + `${rightIn(index.runs[a], 0)}${a === b ? "" : `, ${rightIn(index.runs[b], 1)}`}.`
    + (a === b && ["gained", "lost", "apart"].includes(state.show) ? " A and B are the same run: choose another." : "")
    + (members?.size > 1 ? " Several metrics are counted here: their average weighs metrics, and of seeds it is a mean, so that it may differ from this share." : "")
    + (tally.graded ? " Some answers are graded: those alone are right that are so in full, and the metric is the mean of grades." : "");
  control("members").hidden = !members;
  control("members").textContent = members ? `Cases of ${named} alone ✕` : "";
  lay(a, b);
}

function leakWords() {
  return control("leak").value && `images: ${control("leak").selectedOptions[0].textContent}`;
}

function count(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

function lay(a, b) {
  watcher?.disconnect();
  const main = control("cases");
  const columns = Math.max(1, Math.floor(main.clientWidth / 352));
  watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) open(target, a, b);
      else close(target);
    }
  }, { rootMargin: NEAR });
  const chunks = [];
  for (let at = 0; at < shown.length; at += CHUNK) {
    const chunk = document.createElement("div");
    chunk.className = "cards";
    chunk.dataset.at = at;
    chunk.style.minHeight = `${Math.ceil(Math.min(CHUNK, shown.length - at) / columns) * 13}rem`;
    chunks.push(chunk);
  }
  main.replaceChildren(...chunks);
  // the first is laid out at once and stays: a browser that is busy tells late what is near
  if (chunks.length) open(chunks[0], a, b);
  for (const chunk of chunks.slice(1)) watcher.observe(chunk);
}

async function open(chunk, a, b) {
  if (chunk.dataset.open) return;
  chunk.dataset.open = "yes";
  const own = shown.slice(Number(chunk.dataset.at), Number(chunk.dataset.at) + CHUNK);
  try {
    const rows = await Promise.all(own.map(async (i) => (await page(Math.floor(i / index.size)))[i % index.size]));
    if (chunk.dataset.open && chunk.isConnected) {
      chunk.replaceChildren(...rows.map((row, k) => card(own[k], row, a, b)));
      chunk.style.minHeight = "";
    }
  } catch (error) {
    chunk.textContent = `These cases cannot be shown: ${error.message}. Write the report again.`;
  }
}

function close(chunk) {
  if (!chunk.dataset.open) return;
  delete chunk.dataset.open;
  if (!chunk.childElementCount) return;
  chunk.style.minHeight = `${chunk.offsetHeight}px`;
  chunk.replaceChildren();
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function card(i, [id, images, texts, match, scores, wrong], a, b) {
  const made = element("article", "card");
  const runs = a === b ? [a] : [a, b];
  const reach = runs.map((run) => (scores[run] ?? []).filter((one) => one !== null));
  const line = (run, score) => {
    const row = element("span", "run");
    row.append(element("span", "", index.runs[run]), element("span", "score", score === null ? "–" : score.toFixed(3)));
    const bar = element("span", "bar");
    const fill = element("i");
    const own = reach[runs.indexOf(run)];
    const [low, high] = [Math.min(...own), Math.max(...own)];
    fill.style.width = `${score === null ? 0 : 4 + 96 * (score - low) / Math.max(high - low, 1e-9)}%`;
    bar.append(fill);
    row.append(bar);
    return row;
  };
  const scored = (place) => runs.filter((run) => scores[run]).map((run) => line(run, scores[run][place]));
  const byText = texts.length === match.length;
  const byImage = !byText && images.length === match.length;

  const pictures = element("div", "pictures");
  images.forEach((number, place) => {
    const figure = picture(number, texts[0]);
    if (byImage) {
      figure.append(element("figcaption", "", match[place] === "1" ? "✓ right" : "✗ wrong"), ...scored(place));
    }
    pictures.append(figure);
  });
  if (!images.length) pictures.append(element("div", "none", "about no image"));
  const words = element("div");
  const right = byText ? texts[match.indexOf("1")] : undefined;
  texts.forEach((text, place) => {
    const kind = byText ? (match[place] === "1" ? "right" : "wrong") : "";
    const said = element("p", `text ${kind}`);
    if (kind) said.append(element("b", "", kind === "right" ? "✓" : "✗"));
    said.append(...(kind === "wrong" && right !== undefined ? marked(text, right) : [text]));
    if (byText) said.append(...scored(place));
    words.append(said);
  });
  if (!byText && !byImage) {
    [...match].forEach((one, place) => {
      const said = element("p", `text ${one === "1" ? "right" : "wrong"}`);
      const many = images.length > 1 && texts.length > 1 && match.length === images.length * texts.length;
      const where = many ? `image ${Math.floor(place / texts.length) + 1}, text ${place % texts.length + 1}`
        : match.length === 2 ? (one === "1" ? "best right answer" : "best wrong answer") : `answer ${place + 1}`;
      said.append(element("b", "", one === "1" ? "✓" : "✗"), where);
      for (const run of runs.filter((run) => scores[run])) {
        said.append(line(run, scores[run][place]));
        if (one !== "1" && wrong?.[run]) said.append(found(...wrong[run]));
      }
      words.append(said);
    });
  }
  for (const run of runs) {
    const verdict = element("p", "verdict");
    const answer = index.right[run][i];
    verdict.append(
      `${index.runs[run]} `,
      element("b", answer === "1" ? "yes" : "no", answer === "1" ? "✓ right" : answer === "0" ? "✗ wrong" : "not scored"),
      `${index.margin[run][i] === null ? "" : `, margin ${index.margin[run][i].toFixed(4)}`}`,
    );
    words.append(verdict);
  }
  const part = index.parts.find(([, , , start, n]) => i >= start && i < start + n);
  for (const run of runs) {
    if (index.patches?.[run].includes(i)) words.append(patchWords(run, index.parts.indexOf(part), i, byText ? match : ""));
  }
  const where = [part.slice(0, 3).join("/"), id === "all" ? "a query of the whole gallery" : `case ${id}`, ...images.slice(0, 2).map((number) => index.images[number][0])];
  if (index.split?.[i]) where.push(index.split[i]);
  made.append(pictures, words, element("div", "id", where.join(" · ")));
  return made;
}

// The wrong answer of a gallery that scores highest: a text, or a picture by its number.
function found(text, number) {
  if (text !== null) return element("span", "found", text);
  const figure = picture(number);
  figure.className = "found";
  return figure;
}

function picture(number, text) {
  const [name, file, link] = index.images[number];
  const figure = element("figure");
  if (file) {
    const image = element("img");
    image.src = file;
    image.alt = text ? `what the texts are about: ${text}` : name;
    image.loading = "lazy";
    figure.append(image);
  } else {
    const box = element("div", "none", link ? "" : "no image");
    if (link) {
      const away = element("a", "", "image at its publisher");
      away.href = link;
      away.rel = "noopener";
      box.append(away);
    }
    figure.append(box);
  }
  return figure;
}

// A wrong text, with what it says otherwise than the right one between their common ends marked.
function marked(text, right) {
  const [words, others] = [text.split(" "), right.split(" ")];
  const least = Math.min(words.length, others.length);
  let first = 0;
  let last = 0;
  while (first < least && words[first] === others[first]) first++;
  while (last < least - first && words.at(-1 - last) === others.at(-1 - last)) last++;
  const between = words.slice(first, words.length - last).join(" ");
  const before = words.slice(0, first).join(" ");
  const after = last ? words.slice(words.length - last).join(" ") : "";
  return [before, before && " ", between ? element("mark", "", between) : "", after && " ", after].filter(Boolean);
}

// Which patches of the image the words of a text are like, or look at: opened on demand.
function patchWords(run, part, i, match) {
  const made = element("details", "patches");
  made.append(element("summary", "", `Words and patches of ${index.runs[run]}`));
  made.addEventListener("toggle", async () => {
    if (made.childElementCount > 1) return;
    try {
      made.append(patchesOf((await mapsOf(run, part))[i], match));
    } catch (error) {
      made.append(element("p", "", `These cannot be shown: ${error.message}. Write the report again.`));
    }
  });
  return made;
}

function mapsOf(run, part) {
  const key = `${run}_${part}`;
  if (!patchMaps.has(key)) {
    const waits = {};
    waits.promise = new Promise((resolve, reject) => {
      waits.resolve = resolve;
      script(`data/patches_${key}.js`, reject);
    });
    patchMaps.set(key, waits);
  }
  return patchMaps.get(key).promise;
}

function patchesOf({ images, grid, pairs, by }, match) {
  const alike = by === "cosine";
  const made = element("div");
  images.forEach((file, place) => {
    const seen = element("div", "seen");
    const image = element("img");
    image.src = file;
    image.alt = "the image as the model sees it";
    const light = element("canvas");
    light.setAttribute("aria-hidden", "true");
    seen.append(image, light);
    const said = element("p", "said-of-word", `Choose a word: the patches that it ${alike ? "is like" : "looks at"} stay bright, the best has a frame.`);
    said.setAttribute("role", "status");
    made.append(seen, said);
    for (const [, which, words] of pairs.filter(([of]) => of === place)) {
      const kind = match ? (match[which] === "1" ? "right" : "wrong") : "";
      const text = element("p", `words text ${kind}`);
      if (kind) text.append(element("b", "", kind === "right" ? "✓" : "✗"));
      const highest = Math.max(...words.map(([, , high]) => high));
      const lowest = Math.min(...words.map(([, , high]) => high));
      for (const [word, low, high, coded] of words) {
        const button = element("button", "", word);
        button.type = "button";
        button.style.setProperty("--like", `${Math.round(10 + 60 * (high - lowest) / Math.max(highest - lowest, 1e-9))}%`);
        const choose = () => {
          made.querySelectorAll(".words .chosen").forEach((one) => one.classList.remove("chosen"));
          button.classList.add("chosen");
          const best = lit(light, grid, coded);
          said.textContent = `${word}: ${by} ${high.toFixed(3)} at row ${best[0] + 1}, column ${best[1] + 1}; least ${low.toFixed(3)}.`;
        };
        button.addEventListener("mouseenter", choose);
        button.addEventListener("focus", choose);
        button.addEventListener("click", choose);
        text.append(button, " ");
      }
      const mean = words.reduce((sum, [, , high]) => sum + high, 0) / words.length;
      if (alike) text.append(element("span", "score", `mean of the best ${mean.toFixed(3)}`));
      made.append(text);
    }
  });
  return made;
}

// Darkens patches that a word is unlike, frames the one that it is most like, and returns its place.
function lit(canvas, [rows, columns], coded) {
  const steps = Uint8Array.from(atob(coded), (one) => one.charCodeAt(0));
  const side = 16;
  canvas.width = columns * side;
  canvas.height = rows * side;
  const pen = canvas.getContext("2d");
  steps.forEach((step, k) => {
    pen.fillStyle = `rgba(0, 0, 0, ${(0.8 * (1 - step / 255)).toFixed(3)})`;
    pen.fillRect((k % columns) * side, Math.floor(k / columns) * side, side, side);
  });
  const best = steps.indexOf(255);
  const place = [Math.floor(best / columns), best % columns];
  pen.strokeStyle = "#ff9d00";
  pen.lineWidth = 2;
  pen.strokeRect(place[1] * side + 1, place[0] * side + 1, side - 2, side - 2);
  return place;
}
