/** Cuts text to a number of characters, which are code points; however long the text is, that costs no more. */
export function clip(text: string, characters: number): string {
  if (text.length <= characters) return text
  return [...text.slice(0, characters * 2)].slice(0, characters).join('').toWellFormed()
}
