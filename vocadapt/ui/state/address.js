// Streamlit adds an entry to the browser's history for each query parameter that the server writes: Back would need several clicks.
// This script replaces the entry if the address changes within a page, and adds one only for another page.
// The entry of the page that is left keeps the address at the time of the click: Back restores the settings of the page.
// Its data `top` changes when the page is to scroll to its top: a job has ended, and its result is shown there.
export default function ({ data }) {
  const top = (data && data.top) || ""
  if (top && window.vocadaptTop !== top) {
    window.vocadaptTop = top
    const main = document.querySelector('[data-testid="stMain"]')
    if (main) main.scrollTo({ top: 0, behavior: "smooth" })
  }
  if (window.vocadaptAddress) return
  window.vocadaptAddress = true
  // A narrow window: fold the sidebar once, when the lab is opened. Streamlit itself does so below 768 px only.
  const fold = document.querySelector('[data-testid="stSidebarCollapseButton"] button')
  if (fold && window.innerWidth < 1000) fold.click()
  // A select box cuts a long name: hovering over the box or over an option of its menu shows all of it.
  document.addEventListener("mouseover", (event) => {
    const cut = event.target.closest && event.target.closest('[data-testid="stSelectbox"] input, [role="option"] [data-item-hl]')
    if (cut) cut.title = cut.scrollWidth > cut.clientWidth ? cut.value || cut.textContent : ""
  })
  const push = window.history.pushState.bind(window.history)
  const replace = window.history.replaceState.bind(window.history)
  // A link names the workspace, and Streamlit adds it again, because its picker is bound to the address.
  const namedOnce = (url) => {
    const next = new URL(url, window.location.href)
    const names = next.searchParams.getAll("workspace")
    if (names.length > 1) next.searchParams.set("workspace", names.at(-1))
    return next
  }
  let left = ""
  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest && event.target.closest("a[href]")
      if (!link) return
      left = window.location.href
      // Streamlit reruns a page that links to itself, but leaves the old address, which the next rerun would read again.
      const newTab = event.ctrlKey || event.metaKey || event.shiftKey
      if (link.dataset.testid !== "stPageLink-NavLink" || newTab) return
      const next = namedOnce(link.href)
      if (next.pathname === window.location.pathname) replace(window.history.state, "", next)
    },
    true,
  )
  window.history.pushState = (state, title, url) => {
    const next = namedOnce(url)
    if (next.pathname === window.location.pathname) {
      replace(state, title, next)
      return
    }
    if (left && new URL(left).pathname === window.location.pathname) replace(null, "", left)
    left = ""
    push(state, title, next)
  }
}
