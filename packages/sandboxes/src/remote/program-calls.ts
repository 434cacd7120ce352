import { randomUUID } from 'node:crypto'
import { addAbortListener } from 'node:events'
import { type Duplex, PassThrough, pipeline } from 'node:stream'
import { asObject } from '@berth/platform/kit/json.ts'
import type { SandboxDriver } from '../driver.ts'
import type { BaselineEnd, LeaseProgram, ProgramRun, TreeName } from '../lease-program.ts'
import { writeFrame } from '../line/frame.ts'
import type { CallHandlers, ServedCall } from '../line/serve-line.ts'

/** Longest wait of a started program for the caller's second stream. */
const CLAIM_MS = 60_000

/** Answers the calls about programs at a lease; `startFarProgram` is their other side. */
export function programCalls(driver: Pick<SandboxDriver, 'run' | 'settleBaseline' | 'hasDirectory'>): CallHandlers {
  const programs = new Map<string, ProgramRun>()
  return {
    async run(call) {
      const { program } = call.params as { program: LeaseProgram }
      const id = randomUUID()
      const started = keepingOutput(await driver.run(leaseIdOf(call.params), program))
      programs.set(id, started)
      // A program may have ended before its caller has asked for its bytes, which still count.
      const forget = () => programs.delete(id)
      setTimeout(forget, CLAIM_MS).unref()
      call.signal.addEventListener('abort', forget, { once: true })
      await follow(call, id, started)
    },
    async programBytes({ params, answer }) {
      const { id } = params as { id: string }
      const program = programs.get(id)
      if (program === undefined) throw new Error('no such program')
      programs.delete(id)
      joinProgram(answer(null), program)
    },
    async settleBaseline({ params }) {
      const { series, id, end } = params as { series: string; id: string; end: BaselineEnd }
      await driver.settleBaseline(leaseIdOf(params), series, id, end)
    },
    async hasDirectory({ params }) {
      const { tree, names } = params as { tree: TreeName; names: readonly string[] }
      return await driver.hasDirectory(leaseIdOf(params), tree, names)
    },
  }
}

/** The driver checks the form of the id. */
export function leaseIdOf(params: unknown): string {
  const { leaseId } = asObject(params)
  if (typeof leaseId !== 'string') throw new TypeError('a call needs the id of a lease')
  return leaseId
}

/** Node drops the output of a child that has exited and that nobody reads yet; a stream of this process keeps it. */
function keepingOutput(program: ProgramRun): ProgramRun {
  const output = new PassThrough()
  pipeline(program.output, output, () => undefined)
  return { ...program, output }
}

/** Tells the caller how a program ended, and ends it with its caller. */
async function follow({ answer, signal, stream }: ServedCall, id: string, program: ProgramRun): Promise<void> {
  const kill = () => program.kill()
  using _listener = addAbortListener(signal, kill)
  const { baseline } = program
  answer({ id, ...(baseline !== undefined && { baseline }) })
  stream.once('end', kill)
  stream.resume()
  writeFrame(stream, { ended: await program.ended })
  stream.end()
}

/** A program may end before it has read its input, and what it said by then still counts. */
function joinProgram(stream: Duplex, { input, output, kill }: ProgramRun): void {
  stream.pipe(input)
  input.once('error', () => stream.resume())
  input.once('close', () => stream.resume())
  output.pipe(stream)
  // It may have broken before its caller asked for its bytes.
  if (output.errored !== null) stream.destroy()
  output.once('error', () => stream.destroy())
  stream.once('close', () => {
    input.destroy()
    if (!output.readableEnded) {
      output.destroy()
      kill()
    }
  })
}
