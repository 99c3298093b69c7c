// Marks and names over plotly's maps, and clicks on their points.
//
// Plotly draws a map of 20 000 points anew in half a second and more, and the page stands still meanwhile. So nothing that changes
// with a click belongs to its figure: marks lie on a canvas above it, which follows when the map is moved, zoomed or drawn anew.
// Texts only ever reach the canvas through fillText, which knows no markup.

const REACH = 12, STILL = 4; // pixels: from a click to its point; how far a click may slip
const EVERY = 150; // milliseconds between two looks whether plotly has drawn another map
const MANY = 60; // marks of a kind: beyond, they are dots
const DIMMED = { light: 0.5, dark: 0.7 }; // opacity of all points while a word is marked

export default function ({ data, parentElement, setTriggerValue }) {
  parentElement.stopMarks?.();
  const style = getComputedStyle(parentElement);
  const [ink, paper] = ["text", "background"].map((name) => style.getPropertyValue(`--st-${name}-color`).trim());
  const colors = { ink, paper, dimmed: parseInt(paper.slice(1, 3), 16) < 128 ? DIMMED.dark : DIMMED.light };
  const stops = data.map((map) => mark(map, colors, (id) => setTriggerValue("clicked", id)));
  parentElement.stopMarks = () => stops.forEach((stop) => stop());
  return () => parentElement.stopMarks();
}

function mark(map, colors, onClick) {
  let chart, canvas, places, pressed;
  const redraw = () => chart && draw(chart, canvas, map, places, colors);
  const leave = () => {
    chart?.removeListener?.("plotly_afterplot", redraw);
    chart?.removeListener?.("plotly_relayouting", redraw);
    canvas?.remove();
    chart = canvas = undefined;
  };
  const follow = () => {
    const found = document.querySelector(`.st-key-${map.chart} .js-plotly-plot`);
    const frame = found?.querySelector(".svg-container");
    if (!frame || !found._fullLayout?.xaxis?.range || (found === chart && frame.contains(canvas))) return;
    leave();
    [chart, canvas, places] = [found, document.createElement("canvas"), placesOf(found)];
    canvas.dataset.testid = "projection-marks";
    canvas.style.cssText = "position:absolute;pointer-events:none";
    frame.insertBefore(canvas, frame.querySelectorAll(".main-svg")[1] ?? null); // over the points, under the pointer's label
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
  const timer = setInterval(follow, EVERY);
  document.addEventListener("pointerdown", press, true);
  document.addEventListener("pointerup", release, true);
  follow();
  return () => {
    clearInterval(timer);
    document.removeEventListener("pointerdown", press, true);
    document.removeEventListener("pointerup", release, true);
    leave();
  };
}

/** The place of each id in the plane. */
function placesOf(chart) {
  const places = new Map();
  for (const trace of chart._fullData) trace.customdata?.forEach((id, i) => places.set(id, [trace.x[i], trace.y[i]]));
  return places;
}

/** From the plane to pixels within the drawn part of a chart. */
function projector(chart) {
  const { xaxis: x, yaxis: y } = chart._fullLayout;
  const [left, right] = x.range, [bottom, top] = y.range;
  return (place) => [((place[0] - left) / (right - left)) * x._length, ((top - place[1]) / (top - bottom)) * y._length];
}

/** The id of the point that a click is meant for; undefined where none is near. */
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

function draw(chart, canvas, map, places, colors) {
  const { xaxis: x, yaxis: y } = chart._fullLayout, scale = devicePixelRatio, project = projector(chart);
  Object.assign(canvas.style, { left: `${x._offset}px`, top: `${y._offset}px`, width: `${x._length}px`, height: `${y._length}px` });
  [canvas.width, canvas.height] = [Math.round(x._length * scale), Math.round(y._length * scale)];
  const points = chart.querySelector(".gl-container");
  if (points) points.style.opacity = map.word === null ? 1 : colors.dimmed;

  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.strokeStyle = pen.fillStyle = colors.ink;
  pen.lineWidth = 1.6;
  const at = (ids) => ids.filter((id) => places.has(id)).map((id) => project(places.get(id)));
  const word = map.word === null ? [] : [map.word], taken = [];
  for (const [ids, shape] of [[map.selected, square], [map.near, circle], [word, star]]) {
    const where = at(ids), drawn = where.length > MANY ? dot : shape;
    for (const [px, py] of where) drawn(pen, px, py, map.size / 2);
    if (where.length <= MANY) taken.push(...where.map(([px, py]) => [px - map.size, py - map.size, px + map.size, py + map.size]));
  }
  const named = [...word, ...map.near].filter((id) => places.has(id) && id in map.names);
  const names = named.map((id) => [project(places.get(id)), map.names[id], map.size + 10, id === map.word]);
  for (const [px, py, text] of map.regions) names.push([project([px, py]), text, 0, false]);
  write(pen, names, taken, x._length, y._length, colors);
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

/** Names on slips of paper, the first ones first: none covers another, or what is `taken`, or stands outside what is seen. */
function write(pen, names, taken, width, height, colors) {
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const [[x, y], text, above, bold] of names) {
    pen.font = `${bold ? "bold " : ""}12px "Source Sans", "Source Sans Pro", sans-serif`;
    const half = pen.measureText(text).width / 2 + 3, middle = y - above, box = [x - half, middle - 9, x + half, middle + 9];
    const meets = (other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
    if (x < 0 || y < 0 || x > width || y > height || taken.some(meets)) continue;
    taken.push(box);
    pen.globalAlpha = 0.8;
    pen.fillStyle = colors.paper;
    pen.fillRect(box[0], box[1], 2 * half, 18);
    pen.globalAlpha = 1;
    pen.fillStyle = colors.ink;
    pen.fillText(text, x, middle);
  }
}
