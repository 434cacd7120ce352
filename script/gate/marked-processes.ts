import { readdirSync, readFileSync } from 'node:fs'

/** Variable that every process of a run inherits; its value names the run by the pid and start time of its runner. */
export const markVariable = 'GATE_MARK'

/** A process that carries the mark of a run. */
export interface Marked {
  readonly pid: number
  readonly command: string
}

/** Returns the processes of a run, without this one and its ancestors. */
export function processesOf(mark: string): readonly Marked[] {
  const own = ancestry()
  return pids().flatMap(pid => {
    if (own.has(pid)) return []
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
      if (!variables.includes(`${markVariable}=${mark}`)) return []
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      // A process that has ended and awaits its parent holds nothing any more.
      return command === '' ? [] : [{ pid, command: command.slice(0, 200) }]
    } catch {
      // It has ended in between, or is another user's.
      return []
    }
  })
}

/** Kills a run's processes until none is left, also those that they start meanwhile. Returns the ones that it met first. */
export function killProcessesOf(mark: string): readonly Marked[] {
  const met = processesOf(mark)
  for (let left = met, round = 0; left.length > 0 && round < 50; left = processesOf(mark), round += 1) {
    for (const { pid } of left) kill(pid)
  }
  return met
}

/** Kills a child of this process and all processes below it. Does nothing if `child` is the pid of another process by now. */
export function killChild(child: number): void {
  const parents = new Map(pids().map(pid => [pid, parentOf(pid)]))
  if (parents.get(child) !== process.pid) return
  for (const pid of parents.keys()) {
    let at = pid
    while (at > 1 && at !== child) at = parents.get(at) ?? 0
    if (at === child) kill(pid)
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function pids(): readonly number[] {
  return readdirSync('/proc').map(Number).filter(Number.isSafeInteger)
}

function ancestry(): ReadonlySet<number> {
  const pids = new Set<number>()
  for (let pid = process.pid; pid > 1 && !pids.has(pid); ) {
    pids.add(pid)
    pid = parentOf(pid)
  }
  return pids
}

function parentOf(pid: number): number {
  try {
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[1],
    )
  } catch {
    return 0
  }
}
