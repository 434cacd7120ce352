/** Puts a button on every block of code; without the clipboard, which pages over plain HTTP lack, there is none. */
export function addCopyButtons() {
  if (navigator.clipboard === undefined) return
  for (const block of document.querySelectorAll('article .code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code').textContent)
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 1500)
    })
    block.append(button)
  }
}
