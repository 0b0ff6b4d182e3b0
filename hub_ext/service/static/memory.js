// Sums up how much GPU memory a model takes, and says at each profile whether that is enough. The
// figures of each use, and every word, are the governor's; without this script nothing is shown.
(() => {
  "use strict";

  const GIB = 2 ** 30;
  const RUNTIME = [GIB / 2, (3 * GIB) / 2];
  const BILLION = 1e9;

  const place = document.getElementById("gpu-commons-memory");
  const count = document.getElementById("gpu-commons-parameters");
  const use = document.getElementById("gpu-commons-use");
  const says = document.getElementById("gpu-commons-memory-says");
  if (!place || !count || !use || !says) {
    return;
  }

  function pair(text) {
    return text.split(" ").map(Number);
  }

  /** Bytes by part, at least and at most, as `hub_ext/advice.py` sums them up. */
  function estimate(parameters, of) {
    const bytes = (bits) => Math.ceil((parameters * bits) / 8000);
    const weights = bytes(Number(of.weights));
    const gradients = pair(of.gradients).map(bytes);
    const states = pair(of.states).map(bytes);
    const percent = pair(of.rest);
    const rest = [0, 1].map(
      (end) =>
        Math.ceil(((weights + gradients[end] + states[end]) * percent[end]) / 100) + RUNTIME[end],
    );
    const total = [0, 1].map((end) => weights + gradients[end] + states[end] + rest[end]);
    return { weights: [weights, weights], gradients, states, rest, total };
  }

  function gib(bytes) {
    return (bytes / GIB).toLocaleString(undefined, { maximumFractionDigits: 1 });
  }

  function range([least, most]) {
    const words = gib(least) === gib(most) ? gib(least) : `${gib(least)}–${gib(most)}`;
    return `${words} GiB`;
  }

  function filled(words, parts) {
    return words.replace(/\{(\w+)\}/g, (whole, name) => parts[name] ?? whole);
  }

  function fit([least, most], memory) {
    if (memory < least) {
      return "too_small";
    }
    return memory >= most ? "fits" : "tight";
  }

  function show() {
    const parameters = Number(count.value) * BILLION;
    const known = count.value !== "" && count.validity.valid && parameters > 0;
    const needed = known ? estimate(parameters, use.selectedOptions[0].dataset) : null;
    const parts = {};
    for (const [name, value] of Object.entries(needed ?? {})) {
      parts[name] = range(value);
    }
    says.textContent = needed ? filled(place.dataset.says, parts) : "";
    for (const line of document.querySelectorAll(".gpu-commons-fit")) {
      const memory = Number(line.dataset.memory);
      const found = needed ? fit(needed.total, memory) : "";
      line.className = `gpu-commons-text gpu-commons-fit gpu-commons-fit-${found}`;
      const words = { fits: "fits", tight: "tight", too_small: "tooSmall" }[found];
      line.textContent = words
        ? filled(place.dataset[words], {
            memory: `${gib(memory)} GiB`,
            least: `${gib(needed.total[0])} GiB`,
          })
        : "";
    }
  }

  count.addEventListener("input", show);
  use.addEventListener("change", show);
  place.hidden = false;
  // A browser that goes back keeps what was typed.
  show();
})();
