/** The policy of the page lets in style elements that carry the nonce of its answer. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

let isDone = false

/**
 * Lets the emulator make style elements, which it does without a nonce. Only scripts of this page call
 * `createElement`; an element that came as markup gets no nonce by this.
 */
export function nonceStyles(): void {
  if (isDone) return
  isDone = true
  const create = document.createElement.bind(document)
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const made = create(name, options)
    if (made instanceof HTMLStyleElement) made.nonce = nonce
    return made
  }) as typeof document.createElement
}
