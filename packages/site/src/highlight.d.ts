/** Returns code as HTML with a class for each kind of word; empty for a language that is not known. */
export function highlighted(code: string, language: string): string
