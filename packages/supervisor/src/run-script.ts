import { spawn } from 'node:child_process'
import { addAbortListener, once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OutputPipe } from './output-pipe.ts'
import { ScriptOutput } from './script-output.ts'
import { signalGroup } from './signal-group.ts'

/** How long background processes of a script (`> >(tee log)`) may still add to its output. */
const DRAIN_MS = 250
/** Time between TERM and KILL. */
const GRACE_MS = 2000

export interface ScriptResult {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: ScriptOutput
}

/**
 * Runs a bash script in its own process group, without stdin, and waits for its end. An abort kills the whole group
 * with TERM, then KILL; no process of it is left when this returns. Otherwise background processes of the script live
 * on.
 */
export async function runScript(script: string, cwd: string, signal: AbortSignal): Promise<ScriptResult> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-shell-'))
  try {
    // Use a file, because an argument holds at most 128 KiB and stdin belongs to the script.
    const path = join(directory, 'script')
    writeFileSync(path, script, { mode: 0o600 })
    const output = new ScriptOutput()
    using pipe = new OutputPipe(directory, chunk => output.push(chunk))
    const child = spawn('bash', [path], { cwd, detached: true, stdio: ['ignore', pipe.writeFd, pipe.writeFd] })
    pipe.closeWriteEnd()
    const exit = once(child, 'exit')
    const { pid } = child
    if (pid === undefined) await exit

    const ended = exit.then(() => pipe.ended)
    const aborted = Promise.withResolvers<'aborted'>()
    const abort = () => aborted.resolve('aborted')
    using _listener = addAbortListener(signal, abort)
    const outcome = await Promise.race([exit, aborted.promise])
    if (outcome === 'aborted') {
      signalGroup(pid, 'SIGTERM')
      await within(GRACE_MS, ended)
      signalGroup(pid, 'SIGKILL')
      await exit
    } else {
      await within(DRAIN_MS, ended)
    }
    return { exitCode: child.exitCode, signal: child.signalCode, output }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function within(ms: number, event: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([event, sleep(ms, undefined, { signal: timer.signal }).catch(() => {})])
  timer.abort()
}
