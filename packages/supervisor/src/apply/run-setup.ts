import { spawn } from 'node:child_process'
import { addAbortListener, once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OutputPipe } from '../output-pipe.ts'
import { signalGroup } from '../signal-group.ts'
import { BoundedOutput } from './bounded-output.ts'
import { type ApplyMessage, type FileText, MAX_FILE_BYTES, type SetupEnd, type SetupOrder } from './protocol.ts'

/** How long processes that the script leaves running may still add to its output. */
const DRAIN_MS = 250
/** Time between TERM and KILL; less than a worker gives this program. */
const GRACE_MS = 500

/**
 * Runs a setup script in a process group of its own, without stdin, and waits for its end. What the script leaves
 * running lives on: it is in another group than this program, and its output keeps a reader.
 * @param stop ends the script
 */
export async function runSetup(
  { script, timeoutMs }: SetupOrder,
  report: (message: ApplyMessage) => void,
  stop: AbortSignal,
): Promise<SetupEnd> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-setup-'))
  try {
    const files = { script: join(directory, 'setup'), env: join(directory, 'env'), path: join(directory, 'path') }
    writeFileSync(files.script, script, { mode: 0o600 })
    for (const path of [files.env, files.path]) writeFileSync(path, '', { mode: 0o600 })
    const output = new BoundedOutput(report)
    const late = AbortSignal.timeout(timeoutMs)
    let exitCode: number | null
    {
      using pipe = new OutputPipe(directory, chunk => output.push(chunk))
      const child = spawn('bash', [files.script], {
        detached: true,
        env: { ...process.env, BERTH_ENV: files.env, BERTH_PATH: files.path },
        stdio: ['ignore', pipe.writeFd, pipe.writeFd],
      })
      const exit = once(child, 'exit')
      await endsOrStops(child.pid, exit, AbortSignal.any([late, stop]))
      pipe.closeWriteEnd()
      exitCode = child.exitCode
      const drained = await within(DRAIN_MS, pipe.ended)
      if (!drained) pipe.leaveReader()
    }
    output.end()
    return { exitCode, timedOut: late.aborted && exitCode === null, env: read(files.env), path: read(files.path) }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Waits for the end of the script, which is asked to stop, and then killed, once `stop` is aborted. */
async function endsOrStops(pid: number | undefined, exit: Promise<unknown>, stop: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<'stopped'>()
  using _listener = addAbortListener(stop, () => stopped.resolve('stopped'))
  if ((await Promise.race([exit, stopped.promise])) === 'stopped') {
    signalGroup(pid, 'SIGTERM')
    await within(GRACE_MS, exit)
    signalGroup(pid, 'SIGKILL')
    await exit
  }
}

/** @returns false if the time was over first */
async function within(ms: number, event: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  const over = sleep(ms, false, { signal: timer.signal }).catch(() => false)
  const happened = await Promise.race([event.then(() => true), over])
  timer.abort()
  return happened
}

/** Reads the beginning of a file that the script may have replaced by anything. */
function read(path: string): FileText {
  let fd: number | undefined
  try {
    // Without blocking: the script may have put a pipe there.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1)
    let length = 0
    for (let more = 1; more > 0 && length < bytes.length; length += more) {
      more = readSync(fd, bytes, length, bytes.length - length, null)
    }
    if (length <= MAX_FILE_BYTES) return { text: bytes.toString('utf8', 0, length), isCut: false }
    const lastLine = bytes.lastIndexOf('\n', MAX_FILE_BYTES - 1)
    return { text: bytes.toString('utf8', 0, lastLine + 1), isCut: true }
  } catch {
    return { text: '', isCut: false }
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
