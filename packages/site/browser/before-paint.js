// Runs before the first paint, so that the page never flashes in the other colours.
;(() => {
  let choice = null
  try {
    choice = localStorage.getItem('berth.theme')
  } catch {
    // Storage is blocked, so the system decides.
  }
  const dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
})()
