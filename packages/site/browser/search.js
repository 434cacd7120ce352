import { find, indexOf } from './find.js'

const shown = 12
const before = 24
const after = 110

/**
 * Searches the site in the browser alone: the first use reads `search.json` and indexes it.
 *
 * @param {HTMLFormElement} form
 * @param {string} root way to the site's root
 */
export function setUpSearch(form, root) {
  const input = form.querySelector('input')
  const list = form.querySelector('#found')
  const status = form.querySelector('[role=status]')
  form.hidden = false
  let loading
  const load = () => {
    loading ??= readIndex(`${root}/search.json`).catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }

  const show = async () => {
    const query = input.value.trim()
    if (query === '') return close()
    let index
    try {
      index = await load()
    } catch {
      list.replaceChildren(message('The search could not be loaded.'))
      list.hidden = false
      return
    }
    if (query !== input.value.trim()) return
    const found = find(index, query).slice(0, shown)
    list.replaceChildren(...(found.length === 0 ? [message('Nothing found.')] : found.map(each => result(each, root))))
    list.hidden = false
    status.textContent = found.length === 0 ? 'Nothing found' : `${found.length} results`
  }
  const close = () => {
    list.hidden = true
    status.textContent = ''
  }

  input.addEventListener('focus', () => load().catch(() => {}), { once: true })
  input.addEventListener('input', show)
  form.addEventListener('submit', event => {
    event.preventDefault()
    list.querySelector('a')?.click()
  })
  form.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      close()
      input.focus()
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined || list.hidden) return
    event.preventDefault()
    const stops = [input, ...list.querySelectorAll('a')]
    stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus()
  })
  document.addEventListener('click', event => {
    if (!form.contains(event.target) || event.target.closest('#found a')) close()
  })
  document.addEventListener('keydown', event => {
    const typing = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
  })
}

async function readIndex(address) {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`the search index answers ${response.status}`)
  return indexOf(await response.json())
}

function result({ heading, page, place, text, terms }, root) {
  const link = document.createElement('a')
  link.href = `${root}/${place}`
  const title = document.createElement('strong')
  title.textContent = heading
  const from = document.createElement('small')
  from.textContent = heading === page ? '' : page
  const extract = document.createElement('span')
  extract.append(...extractOf(text, terms))
  link.append(title, from, extract)
  return link
}

/** Returns the words around the first hit, with the hit marked. */
function extractOf(text, terms) {
  const lower = text.toLowerCase()
  const hits = terms.map(term => ({ at: lower.indexOf(term), length: term.length })).filter(({ at }) => at >= 0)
  if (hits.length === 0) return [text.slice(0, before + after)]
  const { at, length } = hits.reduce((first, hit) => (hit.at < first.at ? hit : first))
  const mark = document.createElement('mark')
  mark.textContent = text.slice(at, at + length)
  const start = Math.max(0, at - before)
  return [start > 0 ? '…' : '', text.slice(start, at), mark, text.slice(at + length, at + length + after)]
}

function message(text) {
  const line = document.createElement('p')
  line.textContent = text
  return line
}
