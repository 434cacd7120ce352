/** Cuts text to a number of code points. The cost depends on that number, not on the length of the text. */
export function clip(text: string, characters: number): string {
  if (text.length <= characters) return text
  return [...text.slice(0, characters * 2)].slice(0, characters).join('').toWellFormed()
}
