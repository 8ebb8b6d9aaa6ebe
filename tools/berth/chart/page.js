// Draws the chart dictionary that stands in this page. Titles, labels and groups are foreign text: they reach
// the page as text nodes or as text that is painted, never as markup.
"use strict";

(() => {
  const COLOURS = ["#2f6fb2", "#d9772b", "#3a9a5c", "#b8434e", "#7d5bb0", "#8a6f4d", "#c75a9b", "#4a9fb5"];
  // Above this many marks a picture element for each is slower than one canvas.
  const SVG_MARKS_MAX = 2000;
  const SYMBOLS_MAX = 200;

  const byId = (id) => document.getElementById(id);

  const node = (name, text) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const axisBase = (name) => ({
    name: name || "",
    nameLocation: "middle",
    nameGap: 30,
    axisLabel: { hideOverlap: true },
  });

  const yAxis = (chart) => ({ ...axisBase(chart.y_label), type: "value", position: "right", nameGap: 50, scale: chart.type !== "bar" });

  // Text on the x axis gives places in the order in which it appears first.
  const placesOf = (values) => {
    const places = new Map();
    for (const value of values) if (value !== null && !places.has(String(value))) places.set(String(value), places.size);
    return places;
  };

  const seriesChart = (chart) => {
    const points = chart.elements.flatMap((element) => element.points);
    const dates = chart.x_scale === "datetime";
    const places = !dates && points.some(([x]) => typeof x === "string") ? placesOf(points.map(([x]) => x)) : null;
    const place = ([x, y]) => [places && x !== null ? places.get(String(x)) : x, y];
    const xAxis = { ...axisBase(chart.x_label), type: dates ? "time" : places ? "category" : "value", scale: true };
    if (places) xAxis.data = [...places.keys()];
    const series = chart.elements.map((element, index) => ({
      id: String(index),
      name: element.label,
      type: chart.type,
      smooth: chart.type === "line",
      showSymbol: element.points.length <= SYMBOLS_MAX,
      large: chart.type === "scatter" && element.points.length > SVG_MARKS_MAX,
      data: element.points.filter(([x]) => x !== null).map(place),
    }));
    return { xAxis, series, marks: points.length };
  };

  // Bars of one label stand on one another, one colour for each group. A group that has a label twice gets
  // a further layer, so that no value hides another.
  const barChart = (chart) => {
    const places = placesOf(chart.elements.map((element) => element.label));
    const layers = new Map();
    for (const { group = "", label, value } of chart.elements) {
      const place = places.get(label);
      if (!layers.has(group)) layers.set(group, []);
      const own = layers.get(group);
      let layer = own.find((candidate) => candidate[place] === undefined);
      if (!layer) own.push((layer = new Array(places.size)));
      layer[place] = value;
    }
    const series = [];
    [...layers].forEach(([group, own], index) => own.forEach((layer, depth) => series.push({
      id: `${index}.${depth}`,
      name: group,
      type: "bar",
      stack: "all",
      barMaxWidth: 80,
      itemStyle: { color: COLOURS[index % COLOURS.length] },
      data: Array.from(layer, (value) => (value === undefined ? null : value)),
    })));
    const xAxis = { ...axisBase(chart.x_label), type: "category", data: [...places.keys()] };
    return { xAxis, series, marks: chart.elements.length };
  };

  const tip = (xAxis) => (given) => {
    const items = Array.isArray(given) ? given : [given];
    const box = node("div");
    box.className = "tip";
    const first = items[0];
    const x = Array.isArray(first.value) ? first.value[0] : first.name;
    const head = xAxis.type === "category" ? xAxis.data[first.dataIndex] ?? first.name : xAxis.type === "time" ? first.axisValueLabel || String(x) : String(x);
    const place = xAxis.type === "category" && Array.isArray(first.value) ? xAxis.data[first.value[0]] : head;
    box.append(node("strong", String(place)));
    for (const item of items) {
      const y = Array.isArray(item.value) ? item.value[1] : item.value;
      if (y === null || y === undefined) continue;
      const line = node("div");
      const dot = node("span", "\u25cf ");
      dot.style.color = String(item.color);
      line.append(dot, node("span", item.seriesName ? `${item.seriesName}: ${y}` : String(y)));
      box.append(line);
    }
    return box;
  };

  const draw = () => {
    const chart = JSON.parse(byId("data").textContent);
    byId("title").textContent = chart.title || "";
    const { xAxis, series, marks } = chart.type === "bar" ? barChart(chart) : seriesChart(chart);
    const named = [...new Set(series.map((one) => one.name))].filter((name) => name !== "");
    const view = echarts.init(byId("chart"), null, { renderer: marks > SVG_MARKS_MAX ? "canvas" : "svg" });
    view.setOption({
      color: COLOURS,
      animation: false,
      grid: { left: 20, right: 80, top: 56, bottom: marks > 20 ? 96 : 56, containLabel: true },
      legend: { type: "scroll", top: 8, right: 140, left: 8, data: named },
      toolbox: { right: 8, top: 4, feature: { dataZoom: { title: { zoom: "Zoom", back: "Back" } }, restore: { title: "Restore" }, saveAsImage: { title: "Save" } } },
      tooltip: { trigger: chart.type === "scatter" ? "item" : "axis", confine: true, formatter: tip(xAxis) },
      dataZoom: [{ type: "inside" }, ...(marks > 20 ? [{ type: "slider", bottom: 12, height: 24 }] : [])],
      xAxis,
      yAxis: yAxis(chart),
      series,
    });
    addEventListener("resize", () => view.resize());
    document.body.dataset.drawn = chart.type;
  };

  try {
    draw();
  } catch (error) {
    const problem = byId("problem");
    problem.textContent = `The chart cannot be drawn: ${error.message}`;
    problem.hidden = false;
    throw error;
  }
})();
