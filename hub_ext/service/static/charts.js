// Draws each [data-figure] with Plotly in the page's own colours. The table beside a chart has
// the same figures, so where Plotly is missing or fails the chart simply goes away.
(() => {
  "use strict";

  const quiet = {
    displayModeBar: false,
    displaylogo: false,
    showSendToCloud: false,
    responsive: true,
    staticPlot: false,
  };

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const bar = (trace) => ({
    ...trace,
    marker: {
      ...trace.marker,
      color: colour(trace.meta),
      line: { color: colour("card"), width: 1 },
      pattern: { ...trace.marker.pattern, fgcolor: colour("pattern"), fillmode: "overlay" },
    },
  });

  const line = (trace) => ({
    ...trace,
    line: { ...trace.line, color: colour(trace.meta) },
    fillcolor: colour("fan"),
  });

  function dressed(figure) {
    const ink = colour("ink");
    const data = figure.data.map((trace) => (trace.type === "bar" ? bar(trace) : line(trace)));
    const axis = (given) => ({ ...given, gridcolor: colour("line"), zerolinecolor: colour("line") });
    const layout = {
      ...figure.layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, family: "system-ui, sans-serif", size: 13 },
      xaxis: axis(figure.layout.xaxis),
      yaxis: axis(figure.layout.yaxis),
    };
    return { data, layout };
  }

  function draw(place) {
    const { data, layout } = dressed(JSON.parse(place.dataset.figure));
    return window.Plotly.react(place, data, layout, quiet);
  }

  const places = document.querySelectorAll("[data-figure]");
  const gone = (place) => place.closest("figure").remove();
  const drawAll = () => {
    for (const place of places) {
      draw(place).then(
        () => place.setAttribute("data-drawn", ""),
        () => gone(place),
      );
    }
  };
  if (!window.Plotly) {
    places.forEach(gone);
    return;
  }
  drawAll();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
