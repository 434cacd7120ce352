import { RE2JS } from 're2js'
import { toLinearSyntax } from './pattern-syntax.ts'

/**
 * A regular expression of someone else. Matching takes time in proportion to the text, whatever the pattern: it never
 * tries a character twice. It decides as ECMAScript does with the flag `u`.
 */
export class LinearPattern {
  /** Steps of its program. Matching takes at most this many for each character of a text. */
  readonly steps: number
  readonly #matcher: RE2JS

  /** @throws PatternRefused for a pattern that cannot be matched in linear time */
  constructor(pattern: string) {
    const { source, steps } = toLinearSyntax(pattern)
    this.steps = steps
    this.#matcher = RE2JS.compile(source)
  }

  /** Returns whether the pattern matches any part of a text. */
  test(text: string): boolean {
    return this.#matcher.test(text)
  }
}
