import type { ProgramRun } from '../lease-program.ts'
import { readFrame } from '../line/frame.ts'
import type { Line } from '../line/line.ts'
import { HostAwayError } from '../line/line-error.ts'
import { readEnd, readStarted } from './wire.ts'

const MAX_END_BYTES = 64 * 1024
/** Output that nobody has read this long after the end is dropped. */
const UNREAD_MS = 10 * 60_000

/**
 * Starts a program at a host. It has two streams: its own bytes on one, and on the other its end, which comes even if nobody
 * reads the output. The program is ended with the latter, so it does not outlive its caller or the line.
 * @param answerMs longest wait for the host until the program is started
 */
export async function startFarProgram(
  line: Line,
  run: { readonly leaseId: string; readonly program: object },
  { answerMs }: { readonly answerMs?: number } = {},
): Promise<ProgramRun> {
  const bound = answerMs === undefined ? {} : { answerMs }
  const { value, stream: control } = await line.open('run', run, bound)
  const { id, baseline } = readStarted(value)
  const { stream } = await line.open('programBytes', { id }, bound).catch((error: unknown) => {
    control.destroy()
    throw error
  })
  const ended = (async () => {
    try {
      return readEnd(await readFrame(control, MAX_END_BYTES, new AbortController().signal))
    } catch (error) {
      stream.destroy()
      throw new HostAwayError('the line broke before the program ended', { cause: error })
    } finally {
      control.destroy()
      setTimeout(() => stream.destroy(), UNREAD_MS).unref()
    }
  })()
  // Whoever started it may not wait for the end.
  ended.catch(() => undefined)
  const kill = () => {
    if (!control.destroyed) control.end()
  }
  return {
    ...{ input: stream, output: stream, ended, kill },
    ...(baseline !== undefined && { baseline }),
  }
}
