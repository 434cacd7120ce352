import { randomUUID } from 'node:crypto'
import type { EventDraft } from '../../packages/core/src/sessions/log/envelope.ts'

/** So many Events make one round of an agent's work. */
const round = 10

const text = (n: number) => `## Step ${n}

The cause is in \`src/file-${n}.ts\`, line **${n % 400}**: it waits for a fixed time.

- It fails under load, as [the report](https://example.test/${n}) says.
- The mend waits for the answer itself.

\`\`\`ts
const answer = await ready(${n})
\`\`\``

/** Returns the nth Event of an agent at work: a thought, four tool calls with their starts, and a message. */
export function agentEvent(n: number): EventDraft {
  const [place, turn] = [n % round, Math.floor(n / round)]
  if (place === 0) {
    const data = { messageId: randomUUID(), role: 'reasoning', text: `The ${turn}th file may have the same fault.` }
    return { type: 'svc.message.created', data }
  }
  if (place === round - 1) {
    return { type: 'svc.message.created', data: { messageId: randomUUID(), role: 'assistant', text: text(turn) } }
  }
  const call = { activityId: `call-${turn}-${Math.ceil(place / 2)}`, name: 'bash' }
  if (place % 2 === 1) return { type: 'svc.run.progress', data: { ...call, status: 'started' } }
  const command = `npx vitest run src/file-${turn}.test.ts`
  const output = `${'\u001b[32mok\u001b[0m a line of what the command printed\n'.repeat(12)}12 passed`
  const data = { ...call, kind: 'execute', title: command, status: 'succeeded', input: { command }, output }
  return { type: 'svc.activity.completed', visibility: 'transcript', data: { ...data, durationMs: 40 } }
}

/** True for an Event that has a row of the transcript to itself. */
export const hasOwnRow = (n: number): boolean => n % round === round - 1
