import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/** A bench's child process; it ends with the bench. */
export interface BenchProcess extends AsyncDisposable {
  readonly pid: number
  /** The first line that it wrote. */
  readonly line: string
}

/** Starts a program with Node. Resolves after the program's first line. */
export async function startProcess(args: readonly string[]): Promise<BenchProcess> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const first = String((await once(child.stdout, 'data'))[0])
  child.stdout.resume()
  return {
    pid: child.pid ?? 0,
    line: first.trim(),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Returns the processor time that a process has taken, in milliseconds; the kernel counts it in tens. */
export function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Returns the resident memory of a process, in KiB. */
export function residentKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}
