import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Resolves once the process has ended. A killed process takes a moment, and a slow new parent leaves it a zombie, which
 * signals still reach.
 */
export async function processEnd(pid: number): Promise<void> {
  if (!Number.isSafeInteger(pid) || pid <= 1) throw new Error(`not the id of a process: ${pid}`)
  // bound: a pause between two looks
  while (isRunning(pid)) await sleep(5)
}

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}
