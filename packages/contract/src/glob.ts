/**
 * Returns whether a path fits a glob: `?` stands for one character and `*` for any within a name, `**` for any
 * directories. None of them stands for a dot that begins a name. It takes time in proportion to path and glob, multiplied,
 * whatever the glob: only the last star is ever tried again.
 */
export function fitsGlob(path: string, glob: string): boolean {
  const wanted = namesOf(glob)
  const names = namesOf(path)
  const deepEnd = wanted.at(-1) === '**'
  // What ends in `**` means files below, so at least one name is left for it.
  return fits(deepEnd ? [...wanted.slice(0, -1), '**', '*'] : wanted, names, '**', isHidden, fitsName)
}

const namesOf = (path: string): string[] => path.split('/').filter(name => name !== '' && name !== '.')
const isHidden = (name: string): boolean => name.startsWith('.')

const fitsName = (wanted: string, name: string): boolean =>
  (!isHidden(name) || isHidden(wanted)) &&
  fits(
    [...wanted],
    [...name],
    '*',
    () => false,
    (one, other) => one === '?' || one === other,
  )

/** Going on from the last star suffices: what an earlier one could take more, the last one may take as well. */
function fits(
  wanted: readonly string[],
  given: readonly string[],
  star: string,
  stops: (part: string) => boolean,
  fitsOne: (wanted: string, given: string) => boolean,
): boolean {
  let [at, next, afterStar, retry] = [0, 0, 0, 0]
  while (at < given.length) {
    const part = given[at] ?? ''
    const one = wanted[next]
    if (one === star) {
      next += 1
      ;[afterStar, retry] = [next, at]
    } else if (one !== undefined && fitsOne(one, part)) {
      at += 1
      next += 1
    } else {
      if (afterStar === 0 || stops(given[retry] ?? '')) return false
      retry += 1
      ;[at, next] = [retry, afterStar]
    }
  }
  return wanted.slice(next).every(one => one === star)
}
