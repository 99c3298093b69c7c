// Words drawn as links (`markup.Links`) select themselves when clicked, without leaving the page.
// The link's own address opens the same view: a middle click opens it in another tab.
// One listener serves all links; each mounted component registers its field.
export default function ({ data, setTriggerValue }) {
  const selectors = (window.vocadaptWordLinks ??= new Map())
  selectors.set(data.field, (word) => setTriggerValue("word", word))
  if (window.vocadaptWordLinksListening) return
  window.vocadaptWordLinksListening = true
  document.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    const link = event.target.closest && event.target.closest("a[data-va-field]")
    const select = link && window.vocadaptWordLinks.get(link.dataset.vaField)
    if (!select) return
    event.preventDefault()
    select(link.dataset.vaWord)
  })
}
