import { fitsGlob } from '@berth/contract/glob'

const MAX_LENGTH = 255
const MAX_ALTERNATIVES = 32
/** `{a,b}`, or some characters of which one is meant; the names of routes, such as `[id]`, look the same. */
const choice = /\{([^{}]*)\}|\[([\w.-]{1,8})\]/

/**
 * Returns the globs that one with `{a,b}` and `[ab]` stands for; brackets may also mean themselves. Each is compared in time
 * that grows with its length and that of a path, as no program for all kinds of globs does.
 * @returns null if they are too many
 */
export function alternativesOf(glob: string): readonly string[] | null {
  if (glob.length > MAX_LENGTH) return null
  let found: readonly string[] = [glob]
  // The inner braces come first. What stands for itself is kept apart until all are gone.
  while (found.length <= MAX_ALTERNATIVES) {
    const choices = found.map(one => choice.exec(one))
    if (choices.every(each => each === null)) return found.map(restored)
    found = choices.flatMap((match, at) => {
      const whole = found[at] ?? ''
      if (match === null) return [whole]
      const [text, inBraces, inBrackets = ''] = match
      const [before, after] = [whole.slice(0, match.index), whole.slice(match.index + text.length)]
      const ones = inBraces?.split(',') ?? [...inBrackets, `\0${inBrackets}\x01`]
      return ones.map(one => before + one + after)
    })
  }
  return null
}

const restored = (glob: string): string => glob.replaceAll('\0', '[').replaceAll('\x01', ']')

/** Returns true if a path fits one of the globs. */
export const fitsSome = (path: string, globs: readonly string[]): boolean => globs.some(glob => fitsGlob(path, glob))
