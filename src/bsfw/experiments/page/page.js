// Draws the plots of the page and their controls. All words come from data: they enter the page as text nodes, and
// Plotly, which reads HTML-like tags in its labels, gets them with every special character as an entity.
"use strict";

(() => {
  const groups = JSON.parse(document.getElementById("plots").textContent);
  const PAPER_WIDTH = 660, PAPER_HEIGHT = 330; // pixels, as in page.css: A4 without its margins
  const drawing = new Map(); // chart -> function that draws it as the state of its group now is

  // "%" and "$" too: Plotly fills in %{...} and leaves $...$ to MathJax.
  const literal = (text) => text.replace(/[&<>%$]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  // ---- what Plotly is given -------------------------------------------------------------------------------------

  function translucent(hex, alpha) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
  }

  // The area between low and high, once around. A logarithmic axis has no room for values of zero and below (a band
  // of relative suboptimality reaches its best run, zero): they are lifted to the smallest value that can be shown.
  function bandTrace(curve, series, visible, state, floor) {
    const x = curve.x[state.axis];
    const lift = (value) => (state.logY ? Math.max(value, floor) : value);
    const rows = x.map((_, row) => row).filter((row) =>
      x[row] !== null && curve.low[row] !== null && curve.high[row] !== null && !(state.logX && x[row] <= 0));
    const back = rows.slice().reverse();
    return {
      x: [...rows, ...back].map((row) => x[row]),
      y: [...rows.map((row) => lift(curve.high[row])), ...back.map((row) => lift(curve.low[row]))],
      mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: translucent(series.colour, 0.18),
      hoverinfo: "skip", visible,
    };
  }

  function curveTrace(curve, series, visible, state, plot, group) {
    const name = literal(series.name);
    const band = curve.low ? "<br>from %{customdata[0]:.3~g} to %{customdata[1]:.3~g}" : "";
    return {
      x: curve.x[state.axis], y: curve.y, name, visible,
      customdata: curve.low ? curve.low.map((low, row) => [low, curve.high[row]]) : undefined,
      mode: "lines+markers",
      line: { color: series.colour, width: series.boosted ? 2.2 : 1.8, dash: series.dash },
      marker: { color: series.colour, symbol: series.marker, size: 7, maxdisplayed: 9 },
      hovertemplate: `<b>${name}</b><br>${literal(group.axes[state.axis])}: %{x:,.5~r}` +
        `<br>${literal(plot.yLabel)}: %{y:.4~g}${band}<extra></extra>`,
    };
  }

  // A reference line as a trace, not as a shape: the axis then makes room for it.
  function lineTrace(label, value, visible, state, plot, group) {
    const all = plot.curves.flatMap((curve) => curve.x[state.axis]).filter((x) => x !== null && (!state.logX || x > 0));
    const ends = all.length ? [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))] : [0, 1];
    return {
      x: ends, y: [value, value], name: literal(label), visible, mode: "lines",
      line: { color: group.lineColour, width: 1.6, dash: "dash" },
      hovertemplate: `${literal(label)}: %{y:.4~g}<extra></extra>`,
    };
  }

  function traces(group, plot, state) {
    const positive = plot.curves.flatMap((curve) => [...curve.y, ...(curve.low ?? [])]).filter((value) => value > 0);
    const floor = positive.reduce((a, b) => Math.min(a, b), Infinity);
    const bands = [];
    const curves = [];
    plot.curves.forEach((curve, index) => {
      const series = group.series[index];
      const visible = state.shown[index];
      if (curve.low) bands.push(bandTrace(curve, series, visible, state, floor));
      curves.push(curveTrace(curve, series, visible, state, plot, group));
    });
    // Vanilla first: where curves meet, the dark one stays on top, as in the printed figures.
    const order = curves.map((_, index) => index);
    order.sort((a, b) => group.series[a].boosted - group.series[b].boosted || a - b);
    const lines = plot.lines.map((value, index) =>
      lineTrace(group.lines[index], value, state.shown[group.series.length + index], state, plot, group));
    return [...bands, ...order.map((index) => curves[index]), ...lines];
  }

  let paper = false; // being printed: the screen's width means nothing there

  function layout(group, plot, state) {
    const axis = (label, log) => ({
      title: { text: literal(label), standoff: 8 }, type: log ? "log" : "linear", automargin: true,
      gridcolor: "#e6e6e1", linecolor: "#b9b9b2", zeroline: false,
      // A new axis or scale starts unzoomed; switching curves keeps the zoom.
      uirevision: `${state.axis} ${state.logX} ${state.logY} ${state.resets}`,
    });
    return {
      xaxis: { ...axis(group.axes[state.axis], state.logX), exponentformat: state.logX ? "power" : "SI" },
      yaxis: { ...axis(plot.yLabel, state.logY), exponentformat: "power" },
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: "#1d2127" },
      paper_bgcolor: "rgba(0, 0, 0, 0)", plot_bgcolor: "rgba(0, 0, 0, 0)",
      width: paper ? PAPER_WIDTH : undefined, height: paper ? PAPER_HEIGHT : undefined, autosize: !paper,
      margin: { l: 56, r: 16, t: 12, b: 48 }, showlegend: false, hovermode: "closest",
      hoverlabel: { align: "left", bgcolor: "#ffffff", font: { color: "#1d2127" } },
      // A finger that drags wants to scroll the page.
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    };
  }

  // ---- controls -------------------------------------------------------------------------------------------------

  const DASHES = {
    solid: "none", dash: "6 3", dot: "2 3", dashdot: "6 3 2 3", longdash: "9 3", longdashdot: "9 3 2 3",
  };
  const GLYPHS = { circle: "●", square: "■", "triangle-up": "▲", "triangle-down": "▼", diamond: "◆", x: "✖" };

  // The piece of line that a legend shows beside a name.
  function swatch({ colour, dash, marker }) {
    const svg = (tag, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      made.textContent = text;
      return made;
    };
    const picture = svg("svg", { class: "swatch", viewBox: "0 0 36 14", "aria-hidden": "true" });
    picture.append(
      svg("path", { d: "M2 7H34", stroke: colour, "stroke-width": 2.4, "stroke-dasharray": DASHES[dash] }),
      svg("text", { x: 18, y: 10.5, "text-anchor": "middle", "font-size": 10, fill: colour }, GLYPHS[marker] ?? ""));
    return picture;
  }

  function choice(type, text, checked, change, look) {
    const input = element("input", { type, checked, onchange: () => change(input.checked) });
    const words = element("span", { textContent: text });
    return element("label", { className: "choice" }, input, ...(look ? [swatch(look)] : []), words);
  }

  function fieldset(title, className, ...children) {
    return element("fieldset", { className }, element("legend", { textContent: title }),
      element("div", { className: "choices" }, ...children));
  }

  function controls(group, number, state, redraw) {
    const made = [];
    const names = Object.keys(group.axes);
    if (names.length > 1) {
      const radios = names.map((name) => {
        const label = choice("radio", group.axes[name], name === state.axis, () => { state.axis = name; redraw(); });
        label.firstChild.name = `axis-${number}`;
        return label;
      });
      made.push(fieldset("Horizontal axis", "axes", ...radios));
    }
    made.push(fieldset("Logarithmic", "scales",
      choice("checkbox", "horizontal", state.logX, (on) => { state.logX = on; redraw(); }),
      choice("checkbox", "vertical", state.logY, (on) => { state.logY = on; redraw(); })));

    const entries = [
      ...group.series,
      ...group.lines.map((name) => ({ name, group: null, colour: group.lineColour, dash: "dash" })),
    ];
    const inputs = [];
    const pairs = [];
    let family; // boosted and vanilla of one estimator stay side by side
    entries.forEach((entry, index) => {
      const label = choice("checkbox", entry.name, true, (on) => { state.shown[index] = on; redraw(); }, entry);
      inputs.push(label.firstChild);
      if (!pairs.length || entry.group !== family) pairs.push(element("span", { className: "pair" }));
      pairs.at(-1).append(label);
      family = entry.group;
    });
    const every = (on) => () => {
      inputs.forEach((input, index) => { input.checked = state.shown[index] = on; });
      redraw();
    };
    const button = (text, onclick) => element("button", { type: "button", textContent: text, onclick });
    made.push(fieldset("Curves", "curves", ...pairs, element("span", { className: "buttons" },
      button("All", every(true)), button("None", every(false)),
      button("Reset zoom", () => { state.resets += 1; redraw(); }))));
    return made;
  }

  // ---- the page -------------------------------------------------------------------------------------------------

  // A chart is drawn when it is about to be seen: thirty of them at once would hold up the page.
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) {
        watcher.unobserve(target);
        target.dataset.drawn = "yes";
        drawing.get(target)();
      }
    }
  }, { rootMargin: "800px" });

  document.querySelectorAll(".group").forEach((holder, number) => {
    const group = groups[number];
    const state = {
      axis: Object.keys(group.axes)[0], logX: group.logX, logY: group.logY, resets: 0,
      shown: [...group.series, ...group.lines].map(() => true),
    };
    const charts = [...holder.querySelectorAll(".chart")];
    charts.forEach((chart, index) => {
      const plot = group.plots[index];
      drawing.set(chart, () => {
        chart.setAttribute("aria-label", `${plot.title}: ${plot.yLabel} against ${group.axes[state.axis]}`);
        Plotly.react(chart, traces(group, plot, state), layout(group, plot, state),
          { displayModeBar: false, responsive: true });
      });
      watcher.observe(chart);
    });
    const redraw = () => charts.filter((chart) => chart.dataset.drawn).forEach((chart) => drawing.get(chart)());
    holder.querySelector(".controls").append(...controls(group, number, state, redraw));
  });

  // Paper has no scrolling: all charts, also those not yet seen, and in its width.
  const print = (on) => () => {
    paper = on;
    drawing.forEach((draw, chart) => { if (on || chart.dataset.drawn) draw(); });
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
})();
