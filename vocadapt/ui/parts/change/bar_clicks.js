// A click on a bar selects it. Streamlit itself ignores clicks on a chart that selects by dragging.
// One listener serves all charts; the component that was mounted last sets the chart it applies to.
const SLACK = 5 // pixels that the pointer may move during a click
export default function ({ data, setTriggerValue }) {
  window.vocadaptBars = { chart: data.chart, select: (bar) => setTriggerValue("bar", bar) }
  if (window.vocadaptBarsListening) return
  window.vocadaptBarsListening = true
  let pressed = null
  document.addEventListener("pointerdown", (event) => {
    pressed = null
    const plot = event.target.closest?.(`.st-key-${window.vocadaptBars.chart} .js-plotly-plot`)
    if (plot && !event.button) pressed = { plot, x: event.clientX, y: event.clientY }
  }, true)
  document.addEventListener("pointerup", (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > SLACK) return
    const plane = pressed.plot.querySelector(".nsewdrag").getBoundingClientRect()
    const [x, y] = [event.clientX - plane.left, event.clientY - plane.top]
    if (x < 0 || x > plane.width || y < 0 || y > plane.height) return
    window.vocadaptBars.select(Math.round(pressed.plot._fullLayout.xaxis.p2d(x)))
  }, true)
}
