import { readdirSync, readFileSync } from 'node:fs'

/** Returns all living descendants of a process, whatever group or session they moved to; [] if there is no /proc. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const [child, parent] of parents()) children.set(parent, [...(children.get(parent) ?? []), child])
  const found = [...(children.get(pid) ?? [])]
  for (const descendant of found) found.push(...(children.get(descendant) ?? []))
  return found
}

function* parents(): Generator<[child: number, parent: number]> {
  let names: string[]
  try {
    names = readdirSync('/proc')
  } catch {
    return
  }
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    try {
      // The command name in parentheses may itself contain parentheses, so the fields start after the last one.
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      yield [Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]
    } catch {
      // The process has ended meanwhile.
    }
  }
}
