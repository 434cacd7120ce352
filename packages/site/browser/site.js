import { addCopyButtons } from './copy.js'
import { setUpSearch } from './search.js'

const root = document.documentElement

const toggle = document.querySelector('.theme')
toggle.hidden = false
toggle.addEventListener('click', () => {
  root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark'
  try {
    localStorage.setItem('berth.theme', root.dataset.theme)
  } catch {
    // Storage is blocked, so the choice lasts until the next page.
  }
})

// On a phone the contents would hide the page.
const contents = document.querySelector('.contents details')
const narrow = matchMedia('(max-width: 56rem)')
const fold = () => {
  contents.open = !narrow.matches
}
fold()
narrow.addEventListener('change', fold)
contents.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })

addCopyButtons()
setUpSearch(document.querySelector('form[role=search]'), document.body.dataset.root)
