/** The search of the reference's first page. The page embeds it, and its policy allows it by digest. */
export const docsScript = `
for (const contents of document.querySelectorAll('.contents details')) contents.open = !matchMedia('(max-width: 60rem)').matches
const search = document.querySelector('#search')
if (search) {
  const items = [...document.querySelectorAll('[data-words]')]
  const show = () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean)
    let found = 0
    for (const item of items) {
      item.hidden = !words.every(word => item.dataset.words.includes(word))
      if (!item.hidden) found += 1
    }
    for (const list of document.querySelectorAll('.list')) list.hidden = !list.querySelector('li:not([hidden])')
    document.querySelector('#count').textContent = words.length === 0 ? '' : found + ' found'
  }
  search.addEventListener('input', show)
  show()
}
`
