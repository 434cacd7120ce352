/**
 * The program that carries out the parts of an apply that run inside the sandbox, as the sandbox's user. The supervisor
 * journals its lines, so a worker that takes over reads what an earlier one did not (`protocol.ts`).
 */
import { createInterface } from 'node:readline'
import { BoundedOutput } from './bounded-output.ts'
import { cloneRepositories } from './clone-repositories.ts'
import type { ApplyMessage, ApplyOrder, CloneEnd, CloneOrder } from './protocol.ts'
import { runSetup } from './run-setup.ts'

const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())

const report = (message: ApplyMessage) => process.stdout.write(`${JSON.stringify(message)}\n`)

async function main(): Promise<void> {
  const lines = createInterface({ input: process.stdin })
  for await (const line of lines) {
    // The worker that sent it is of the same release, so it needs no validation.
    const order: ApplyOrder = JSON.parse(line)
    report({ end: await ('clone' in order ? clone(order.clone) : runSetup(order.setup, report, stop.signal)) })
    break
  }
  // Behind all that was told: what a slow reader has not taken yet would go with this process, the end as well.
  process.stdout.write('', () => process.exit(0))
}

async function clone(order: CloneOrder): Promise<CloneEnd> {
  const output = new BoundedOutput(report)
  const end = await cloneRepositories(order, line => output.push(Buffer.from(`${line}\n`)), stop.signal)
  output.end()
  return end
}

void main()
