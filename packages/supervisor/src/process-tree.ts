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
    const parent = statOf(Number(name))?.[1]
    if (parent !== undefined) yield [Number(name), Number(parent)]
  }
}

/** Returns the process group of a process; undefined if it has ended. */
export function groupOf(pid: number): number | undefined {
  const group = statOf(pid)?.[2]
  return group === undefined ? undefined : Number(group)
}

/** Reads the fields of a process's stat behind its name; undefined if it has ended. */
function statOf(pid: number): string[] | undefined {
  try {
    // The command name in parentheses may itself contain parentheses, so the fields start after the last one.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
