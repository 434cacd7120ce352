// Runs before the first paint. `theme.ts` and `preference.ts` own the keys and the attributes.
;(() => {
  let choice = null
  try {
    choice = localStorage.getItem('berth.theme')
    for (const name of ['motion', 'density', 'keys']) {
      const value = localStorage.getItem(`berth.${name}`)
      if (value !== null) document.documentElement.dataset[name] = value
    }
  } catch {
    // Storage is blocked, so the system decides.
  }
  const dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
})()
