"use strict";

const CHUNK = 48; // cards per chunk
const MANY = 12; // the page starts with the first metric of at least this many cases
const NEAR = "1500px 0px"; // chunks within this distance of the screen are laid out
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

let index; // all answers: right or wrong, margins, positions of their texts
const waiting = new Map(); // callbacks for pages of cases that are being loaded
const loaded = new Map();

const patchMaps = new Map(); // promises of words and patches, by run and metric

// Called by the data files.
const zoo = {
  index(content) {
    index = content;
    start();
  },
  page(number, rows) {
    waiting.get(number)(rows);
  },
  patches(run, part, maps) {
    patchMaps.get(`${run}_${part}`).resolve(maps);
  },
};

function loadScript(source, reject) {
  const tag = document.createElement("script");
  tag.src = source;
  tag.onerror = () => reject(new Error(`${tag.src} is missing`));
  document.head.append(tag);
}

function page(number) {
  if (!loaded.has(number)) {
    loaded.set(number, new Promise((resolve, reject) => {
      waiting.set(number, resolve);
      loadScript(`data/cases_${number}.js`, reject);
    }));
  }
  return loaded.get(number);
}

// The state of the page, stored in its address: the controls, and the metrics of an average.
let members = null;
let averageName = "";

function controlState() {
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
  addEventListener("keydown", jump);
  recall();
}

// Home and End jump: smooth scrolling past chunks with changing heights would stop too early.
function jump(event) {
  if (event.target.closest("select") || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.key === "Home") scrollTo({ top: 0, behavior: "instant" });
  else if (event.key === "End") scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else return;
  event.preventDefault();
}

function fill(name, values) {
  const select = control(name);
  const previous = select.value;
  const distinct = [...new Set(values)];
  select.replaceChildren(...["", ...distinct].map((value) => {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = value || "all";
    return option;
  }));
  select.value = distinct.includes(previous) ? previous : "";
}

// Restricts subsets and metrics to those of the chosen benchmark and subset.
function narrow() {
  const parts = index.parts.filter((part) => ["", part[0]].includes(control("benchmark").value));
  fill("subset", parts.map((part) => part[1]));
  fill("metric", parts.filter((part) => ["", part[1]].includes(control("subset").value)).map((part) => part[2]));
}

function recall() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  members = parameters.has("in") ? new Set(parameters.get("in").split(",").map(Number)) : null;
  averageName = parameters.get("name") ?? "";
  for (const name of CONTROLS) {
    if (name === "subset" || name === "metric") narrow();
    const select = control(name);
    if (!select) continue;
    const options = [...select.options];
    const requested = options.find((option) => option.value === parameters.get(name));
    select.value = (requested ?? options.find((option) => option.defaultSelected) ?? options[0])?.value ?? "";
  }
  // by default, a run is compared with the first run
  if (control("b") && !parameters.has("b")) control("b").value = control("a").value === "0" ? "1" : "0";
  if (!location.hash) selectOneMetric();
  show();
}

// Margins of different metrics are not comparable, so the page starts with one metric: the first with
// many cases, otherwise the one with the most cases.
function selectOneMetric() {
  const [a, b] = ["a", "b"].map((name) => Number(control(name)?.value ?? 0));
  const keep = SHOWS[control("show").value];
  const counts = index.parts.map(([, , , start, n]) => {
    let kept = 0;
    for (let i = start; i < start + n; i++) if (keep(index.right[a][i], index.right[b][i])) kept++;
    return kept;
  });
  const enough = counts.findIndex((n) => n >= MANY);
  const [benchmark, subset, metric] = index.parts[enough < 0 ? counts.indexOf(Math.max(...counts)) : enough];
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
    state.set("name", averageName);
  }
  for (const [name, value] of Object.entries(controlState())) if (value !== "") state.set(name, value);
  history.pushState(null, "", `#${state}`); // does not call recall, unlike a change of location
}

// Lays out the selected cases in chunks, each when it comes near the screen.
let watcher;
let shown = []; // indices of the shown answers, in order

function show() {
  const state = controlState();
  const [a, b] = [Number(state.a), Number(state.b ?? state.a)];
  const keep = SHOWS[state.show];
  shown = [];
  const tally = { total: 0, right: [0, 0], scored: [0, 0], metrics: new Set(), graded: false };
  index.parts.forEach(([benchmark, subset, metric, start, n, graded], number) => {
    if (members && !members.has(number)) return;
    if (![benchmark, ""].includes(state.benchmark) || ![subset, ""].includes(state.subset)) return;
    if (![metric, ""].includes(state.metric)) return;
    tally.graded ||= graded;
    tally.metrics.add(metric);
    for (let i = start; i < start + n; i++) {
      if (state.split && index.split[i] !== state.split) continue;
      if (state.leak && index.leak?.[a][i] !== state.leak) continue;
      const [answerA, answerB] = [index.right[a][i], index.right[b][i]];
      tally.total++;
      [answerA, answerB].forEach((answer, run) => {
        tally.right[run] += answer === "1";
        tally.scored[run] += answer !== "-";
      });
      if (keep(answerA, answerB)) shown.push(i);
    }
  });
  // answers without a margin come last
  const margin = (run, i) => (index.right[run][i] === "-" ? NaN : index.margin[run][i] ?? NaN);
  const place = (key) => (Number.isNaN(key) ? Number.MAX_VALUE : key);
  const key = new Map(shown.map((i) => [i, place(ORDERS[state.sort](margin(a, i), margin(b, i)))]));
  shown.sort((x, y) => key.get(x) - key.get(y) || x - y);
  const rightIn = (name, run) => {
    const [right, scored] = [tally.right[run], tally.scored[run]];
    const share = scored ? ` (${(Math.round(1000 * right / scored) / 10).toFixed(1)} %)` : "";
    return `${name} is right in ${right.toLocaleString("en")} of ${scored.toLocaleString("en")}${share}`;
  };
  const noun = tally.metrics.size > 1 ? "answer" : "case";
  const selection = [state.benchmark, state.subset, state.metric, state.split, leakWords()].filter(Boolean).join("/");
  control("count").textContent = `${selection && `${selection}: `}${count(shown.length, noun)} of ${tally.total.toLocaleString("en")} shown. `
    + `${rightIn(index.runs[a], 0)}${a === b ? "" : `, ${rightIn(index.runs[b], 1)}`}.`
    + (a === b && ["gained", "lost", "apart"].includes(state.show) ? " A and B are the same run: choose another." : "")
    + (members?.size > 1 ? " Several metrics are counted here. Their average weights metrics and is a mean over seeds, so it can differ from this share." : "")
    + (tally.graded ? " Some answers are graded: only those with the full grade are right, and the metric is the mean grade." : "");
  control("members").hidden = !members;
  control("members").textContent = members ? `Only cases of ${averageName} ✕` : "";
  lay(a, b);
}

function leakWords() {
  return control("leak").value && `images: ${control("leak").selectedOptions[0].textContent}`;
}

function count(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
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
  // the first chunk is laid out at once and stays: a busy browser reports visible chunks late
  if (chunks.length) open(chunks[0], a, b);
  for (const chunk of chunks.slice(1)) watcher.observe(chunk);
}

async function open(chunk, a, b) {
  if (chunk.dataset.open) return;
  chunk.dataset.open = "yes";
  const answers = shown.slice(Number(chunk.dataset.at), Number(chunk.dataset.at) + CHUNK);
  try {
    const rows = await Promise.all(answers.map(async (i) => (await page(Math.floor(i / index.size)))[i % index.size]));
    if (chunk.dataset.open && chunk.isConnected) {
      chunk.replaceChildren(...rows.map((row, k) => card(answers[k], row, a, b)));
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
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function card(i, [id, images, texts, match, scores, wrong], a, b) {
  const article = element("article", "card");
  const runs = a === b ? [a] : [a, b];
  const reach = runs.map((run) => (scores[run] ?? []).filter((score) => score !== null));
  const line = (run, score) => {
    const row = element("span", "run");
    row.append(element("span", "", index.runs[run]), element("span", "score", score === null ? "–" : score.toFixed(3)));
    const bar = element("span", "bar");
    const fill = element("i");
    const runScores = reach[runs.indexOf(run)];
    const [low, high] = [Math.min(...runScores), Math.max(...runScores)];
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
  if (!images.length) pictures.append(element("div", "none", "case without image"));
  const words = element("div");
  const right = byText ? texts[match.indexOf("1")] : undefined;
  texts.forEach((text, place) => {
    const kind = byText ? (match[place] === "1" ? "right" : "wrong") : "";
    const paragraph = element("p", `text ${kind}`);
    if (kind) paragraph.append(element("b", "", kind === "right" ? "✓" : "✗"));
    paragraph.append(...(kind === "wrong" && right !== undefined ? marked(text, right) : [text]));
    if (byText) paragraph.append(...scored(place));
    words.append(paragraph);
  });
  if (!byText && !byImage) {
    [...match].forEach((label, place) => {
      const paragraph = element("p", `text ${label === "1" ? "right" : "wrong"}`);
      const many = images.length > 1 && texts.length > 1 && match.length === images.length * texts.length;
      const where = many ? `image ${Math.floor(place / texts.length) + 1}, text ${place % texts.length + 1}`
        : match.length === 2 ? (label === "1" ? "best right answer" : "best wrong answer") : `answer ${place + 1}`;
      paragraph.append(element("b", "", label === "1" ? "✓" : "✗"), where);
      for (const run of runs.filter((run) => scores[run])) {
        paragraph.append(line(run, scores[run][place]));
        if (label !== "1" && wrong?.[run]) paragraph.append(wrongAnswer(...wrong[run]));
      }
      words.append(paragraph);
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
  const where = [part.slice(0, 3).join("/"), id === "all" ? "a query to the full gallery" : `case ${id}`, ...images.slice(0, 2).map((number) => index.images[number][0])];
  if (index.split?.[i]) where.push(index.split[i]);
  article.append(pictures, words, element("div", "id", where.join(" · ")));
  return article;
}

// The highest-scoring wrong answer of a gallery: a text, or an image by its index.
function wrongAnswer(text, number) {
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
    image.alt = text ? `image of the texts: ${text}` : name;
    image.loading = "lazy";
    figure.append(image);
  } else {
    const box = element("div", "none", link ? "" : "no image");
    if (link) {
      const anchor = element("a", "", "image at its publisher");
      anchor.href = link;
      anchor.rel = "noopener";
      box.append(anchor);
    }
    figure.append(box);
  }
  return figure;
}

// A wrong text with a mark between the common prefix and suffix of it and the right text.
function marked(text, right) {
  const [words, others] = [text.split(" "), right.split(" ")];
  const least = Math.min(words.length, others.length);
  let first = 0;
  let last = 0;
  while (first < least && words[first] === others[first]) first++;
  while (last < least - first && words.at(-1 - last) === others.at(-1 - last)) last++;
  const difference = words.slice(first, words.length - last).join(" ");
  const prefix = words.slice(0, first).join(" ");
  const suffix = last ? words.slice(words.length - last).join(" ") : "";
  return [prefix, prefix && " ", difference ? element("mark", "", difference) : "", suffix && " ", suffix].filter(Boolean);
}

// The patches that each word of a text is similar to or attends to, loaded on demand.
function patchWords(run, part, i, match) {
  const details = element("details", "patches");
  details.append(element("summary", "", `Words and patches of ${index.runs[run]}`));
  details.addEventListener("toggle", async () => {
    if (details.childElementCount > 1) return;
    try {
      details.append(patchesOf((await mapsOf(run, part))[i], match));
    } catch (error) {
      details.append(element("p", "", `These cannot be shown: ${error.message}. Write the report again.`));
    }
  });
  return details;
}

function mapsOf(run, part) {
  const key = `${run}_${part}`;
  if (!patchMaps.has(key)) {
    const pending = {};
    pending.promise = new Promise((resolve, reject) => {
      pending.resolve = resolve;
      loadScript(`data/patches_${key}.js`, reject);
    });
    patchMaps.set(key, pending);
  }
  return patchMaps.get(key).promise;
}

function patchesOf({ images, grid, pairs, by }, match) {
  const isCosine = by === "cosine";
  const container = element("div");
  images.forEach((file, place) => {
    const frame = element("div", "seen");
    const image = element("img");
    image.src = file;
    image.alt = "the input image of the model";
    const light = element("canvas");
    light.setAttribute("aria-hidden", "true");
    frame.append(image, light);
    const status = element("p", "word-status", `Choose a word: the patches that it ${isCosine ? "is similar to" : "attends to"} stay bright, the best one has a frame.`);
    status.setAttribute("role", "status");
    container.append(frame, status);
    for (const [, textIndex, words] of pairs.filter(([imageIndex]) => imageIndex === place)) {
      const kind = match ? (match[textIndex] === "1" ? "right" : "wrong") : "";
      const text = element("p", `words text ${kind}`);
      if (kind) text.append(element("b", "", kind === "right" ? "✓" : "✗"));
      const highest = Math.max(...words.map(([, , high]) => high));
      const lowest = Math.min(...words.map(([, , high]) => high));
      for (const [word, low, high, coded] of words) {
        const button = element("button", "", word);
        button.type = "button";
        button.style.setProperty("--like", `${Math.round(10 + 60 * (high - lowest) / Math.max(highest - lowest, 1e-9))}%`);
        const choose = () => {
          container.querySelectorAll(".words .chosen").forEach((word) => word.classList.remove("chosen"));
          button.classList.add("chosen");
          const best = drawPatches(light, grid, coded);
          status.textContent = `${word}: ${by} ${high.toFixed(3)} at row ${best[0] + 1}, column ${best[1] + 1}; lowest ${low.toFixed(3)}.`;
        };
        button.addEventListener("mouseenter", choose);
        button.addEventListener("focus", choose);
        button.addEventListener("click", choose);
        text.append(button, " ");
      }
      const mean = words.reduce((sum, [, , high]) => sum + high, 0) / words.length;
      if (isCosine) text.append(element("span", "score", `mean of the highest ${mean.toFixed(3)}`));
      container.append(text);
    }
  });
  return container;
}

// Darkens dissimilar patches, frames the most similar one, and returns its position.
function drawPatches(canvas, [rows, columns], coded) {
  const steps = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0));
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
