// Marks and names on plotly's charts, and clicks on their points.
//
// Plotly takes half a second or more to redraw a chart of 20 000 points, and the page is blocked meanwhile. Therefore nothing that
// changes with a click is part of its figure: the marks are on a canvas above it, which is redrawn whenever the chart is moved,
// zoomed or redrawn. Text is drawn with fillText only, which does not interpret markup.

const REACH = 12, STILL = 4; // pixels: maximum distance of a click from its point; maximum movement during a click
const EVERY = 150; // milliseconds between two checks whether plotly has drawn another chart
const MANY = 60; // more marks of a kind than this are drawn as dots
// Fonts of names: a marked token, the searched word, a region, any other token.
const PLAIN = "600 ", BOLD = "bold ", REGION = "italic 600 ", FAINT = "";
const REGIONS = { light: "#96446F", dark: "#E8B5D1" }; // color of the names of regions
const DIMMED = { light: 0.5, dark: 0.7 }; // opacity of all points while a word is marked

export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.stopMarks?.();
  const style = getComputedStyle(parentElement);
  const [ink, paper] = ["text", "background"].map((name) => style.getPropertyValue(`--st-${name}-color`).trim());
  const theme = parseInt(paper.slice(1, 3), 16) < 128 ? "dark" : "light";
  const colors = { ink, paper, dimmed: DIMMED[theme], region: REGIONS[theme] };
  const stops = data.map((marks) => mark(marks, colors, (id) => setTriggerValue("clicked", id)));
  parentElement.stopMarks = () => stops.forEach((stop) => stop());
  return () => parentElement.stopMarks();
}

function mark(marks, colors, onClick) {
  let chart, canvas, places, pressed;
  const redraw = () => chart && draw(chart, canvas, marks, places, colors);
  const detach = () => {
    chart?.removeListener?.("plotly_afterplot", redraw);
    chart?.removeListener?.("plotly_relayouting", redraw);
    canvas?.remove();
    chart = canvas = undefined;
  };
  const attach = () => {
    const found = document.querySelector(`.st-key-${marks.chart} .js-plotly-plot`);
    const frame = found?.querySelector(".svg-container");
    if (!frame || !found._fullLayout?.xaxis?.range || (found === chart && frame.contains(canvas))) return;
    detach();
    [chart, canvas, places] = [found, document.createElement("canvas"), placesOf(found)];
    canvas.dataset.testid = "projection-marks";
    canvas.style.cssText = "position:absolute;pointer-events:none";
    frame.insertBefore(canvas, frame.querySelectorAll(".main-svg")[1] ?? null); // above the points, below the hover label
    chart.on("plotly_afterplot", redraw);
    chart.on("plotly_relayouting", redraw);
    redraw();
  };
  const press = (event) => { pressed = chart?.contains(event.target) && event.target.closest(".nsewdrag") ? event : undefined; };
  const release = (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) > STILL) return;
    const id = nearest(chart, event);
    if (id !== undefined) onClick(id);
  };
  const timer = setInterval(attach, EVERY);
  document.addEventListener("pointerdown", press, true);
  document.addEventListener("pointerup", release, true);
  attach();
  return () => {
    clearInterval(timer);
    document.removeEventListener("pointerdown", press, true);
    document.removeEventListener("pointerup", release, true);
    detach();
  };
}

/** Return the coordinates of each id. */
function placesOf(chart) {
  const places = new Map();
  for (const trace of chart._fullData) trace.customdata?.forEach((id, i) => places.set(id, [trace.x[i], trace.y[i]]));
  return places;
}

/** Return a function that converts coordinates to pixels within the plot area of a chart. */
function projector(chart) {
  const { xaxis: x, yaxis: y } = chart._fullLayout;
  const [left, right] = x.range, [bottom, top] = y.range;
  return (place) => [((place[0] - left) / (right - left)) * x._length, ((top - place[1]) / (top - bottom)) * y._length];
}

/** Return the id of the point nearest to a click; undefined if none is within REACH. */
function nearest(chart, event) {
  const plane = chart.querySelector(".nsewdrag").getBoundingClientRect(), project = projector(chart);
  const x = event.clientX - plane.x, y = event.clientY - plane.y;
  let best, least = REACH;
  for (const trace of chart._fullData) {
    if (trace.visible !== true || !trace.customdata) continue;
    for (let i = 0; i < trace.x.length; i++) {
      const [px, py] = project([trace.x[i], trace.y[i]]), far = Math.hypot(px - x, py - y);
      if (far < least) [best, least] = [trace.customdata[i], far];
    }
  }
  return best;
}

function draw(chart, canvas, marks, places, colors) {
  const { xaxis: x, yaxis: y } = chart._fullLayout, scale = devicePixelRatio, project = projector(chart);
  Object.assign(canvas.style, { left: `${x._offset}px`, top: `${y._offset}px`, width: `${x._length}px`, height: `${y._length}px` });
  [canvas.width, canvas.height] = [Math.round(x._length * scale), Math.round(y._length * scale)];
  const points = chart.querySelector(".gl-container");
  if (points) points.style.opacity = marks.dimmed ? colors.dimmed : 1;

  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.strokeStyle = pen.fillStyle = colors.ink;
  pen.lineWidth = 1.6;
  const at = (ids) => ids.filter((id) => places.has(id)).map((id) => project(places.get(id)));
  const word = marks.word === null ? [] : [marks.word], taken = [];
  for (const [ids, shape] of [[marks.selected, square], [marks.near, circle], [word, star]]) {
    const where = at(ids), drawn = where.length > MANY ? dot : shape;
    for (const [px, py] of where) drawn(pen, px, py, marks.size / 2);
    if (where.length <= MANY) taken.push(...where.map(([px, py]) => [px - marks.size, py - marks.size, px + marks.size, py + marks.size]));
  }
  const nameOf = (style) => (id) => [project(places.get(id)), marks.names[id], marks.size + 10, style];
  const known = (ids) => ids.filter((id) => places.has(id));
  const regions = marks.regions.map(([px, py, text]) => [project([px, py]), text, 0, REGION]);
  const [first, second] = [marks.named.filter((id) => id === marks.word), marks.named.filter((id) => id !== marks.word)];
  const names = [...known(first).map(nameOf(BOLD)), ...known(second).map(nameOf(PLAIN))];
  if (marks.others.length) names.splice(1, 0, ...regions); // in a small picture they are part of the view
  else names.push(...regions);
  write(pen, names, taken, x._length, y._length, colors);
  // The names of all other tokens, where they hide no point.
  const free = [...taken, ...at(marks.others).map(([px, py]) => [px - 4, py - 4, px + 4, py + 4])];
  write(pen, known(marks.others).map(nameOf(FAINT)), free, x._length, y._length, colors);
}

function square(pen, x, y, radius) {
  pen.strokeRect(x - radius - 2.5, y - radius - 2.5, 2 * radius + 5, 2 * radius + 5);
}

function circle(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius + 2.5, 0, 2 * Math.PI);
  pen.stroke();
}

function dot(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

function star(pen, x, y, radius) {
  pen.beginPath();
  for (let i = 0; i < 10; i++) {
    const far = (radius + 6) * (i % 2 ? 0.45 : 1), turn = (i * Math.PI) / 5 - Math.PI / 2;
    pen.lineTo(x + far * Math.cos(turn), y + far * Math.sin(turn));
  }
  pen.fill();
}

/**
 * Draw names on a background, the most important first. A name that overlaps a `taken` box moves below or beside its point, a
 * region's name further; it is skipped if there is no room. The searched word is always named.
 */
function write(pen, names, taken, width, height, colors) {
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const [[x, y], text, above, style] of names) {
    pen.font = `${style}12px "Source Sans", "Source Sans Pro", sans-serif`;
    if (x < 0 || y < 0 || x > width || y > height) continue;
    const half = pen.measureText(text).width / 2 + 3, beside = half + above - 4;
    const moves = style === REGION ? [0, 20, -20, 40, -40, 60, -60].map((by) => [0, by]) : [[0, -above], [0, above], [beside, 0], [-beside, 0]];
    const boxes = moves.map(([right, down]) => [x + right - half, y + down - 9, x + right + half, y + down + 9]);
    const meets = (box) => taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
    const inside = (box) => box[0] >= 0 && box[1] >= 0 && box[2] <= width && box[3] <= height;
    const box = boxes.find((one) => inside(one) && !meets(one)) ?? (style === BOLD ? boxes[0] : undefined);
    if (!box) continue;
    taken.push(box);
    pen.globalAlpha = style === REGION ? 0.9 : 0.8;
    pen.fillStyle = colors.paper;
    pen.fillRect(box[0], box[1], 2 * half, 18);
    pen.globalAlpha = style === FAINT ? 0.75 : 1;
    pen.fillStyle = style === REGION ? colors.region : colors.ink;
    pen.fillText(text, box[0] + half, box[1] + 9);
    pen.globalAlpha = 1;
  }
}
