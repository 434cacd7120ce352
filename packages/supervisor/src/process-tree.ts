import { readdirSync, readFileSync } from 'node:fs'

/** Returns all living descendants of a process, whatever group or session they moved to; [] if there is no /proc. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const [child, parent] of parents()) children.set(parent, [...(children.get(parent) ?? []), child])
  const found = [...(children.get(pid) ?? [])]
  for (const descendant of found) found.push(...(children.get(descendant) ?? []))
  return found
}

/** Returns the processes that were started with a variable, `NAME=value`, and that this user may read. */
export function processesWith(variable: string): number[] {
  return processes().filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(variable)
    } catch {
      return false
    }
  })
}

/** Returns whether this process is alone in its pid namespace with the first one; false if there is no /proc. */
export function isAlone(): boolean {
  const all = processes()
  return all.length > 0 && all.every(pid => pid === 1 || pid === process.pid || /^[ZX]/.test(statOf(pid)?.[0] ?? 'X'))
}

function* parents(): Generator<[child: number, parent: number]> {
  for (const pid of processes()) {
    const parent = statOf(pid)?.[1]
    if (parent !== undefined) yield [pid, Number(parent)]
  }
}

function processes(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
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
