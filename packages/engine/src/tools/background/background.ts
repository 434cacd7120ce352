import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { textResult } from '../text-result.ts'
import type { BackgroundCommand } from './background-command.ts'
import type { BackgroundCommands } from './background-commands.ts'

const DEFAULT_SECONDS = 60
const MAX_SECONDS = 1800

const Parameters = Type.Object({
  id: Type.String({ description: 'Id that bash gave' }),
  action: Type.Enum(['read', 'wait', 'stop'], { type: 'string' }),
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Byte of its output to read from; by default where the last read ended' }),
  ),
  seconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_SECONDS, description: `How long to wait; by default ${DEFAULT_SECONDS}` }),
  ),
  text: Type.Optional(Type.String({ minLength: 1, description: 'Wait no longer once its new output has this' })),
})

/** Returns a tool that reads the output of commands in the background, waits for them and stops them. */
export function background(commands: BackgroundCommands) {
  return defineTool({
    name: 'background',
    label: 'background',
    description:
      'Look after a background command: read its output, wait until it ends or prints a text, or stop it with all its processes. Each action gives the output since the last one; the last 1 MiB is kept.',
    parameters: Parameters,
    async execute(_toolCallId, { id, action, after, seconds = DEFAULT_SECONDS, text }, signal) {
      const command = commands.find(id)
      if (action === 'wait') await command.wait(seconds * 1000, text, signal)
      if (action === 'stop') await command.stop(signal)
      // What the call may not report, a notice tells.
      signal?.throwIfAborted()
      const part = command.read(after)
      if (command.status !== 'running') commands.noted(id)
      const cut = part.leftOut === 0 ? '' : `[${part.leftOut} bytes are not kept any more]\n`
      const end = part.text === '' || part.text.endsWith('\n') ? '' : '\n'
      return textResult(
        `${cut}${part.text}${end}[${id} ${stateOf(command)}; ${part.more} bytes more, after ${part.next}]`,
      )
    },
  })
}

function stateOf({ status, exitCode, escaped }: BackgroundCommand): string {
  if (status === 'running') return 'is running'
  if (escaped) return 'was stopped, but a process that it began could not be found and may still run'
  if (status === 'stopped') return 'was stopped'
  return exitCode === null ? 'was ended by a signal' : `has ended with exit code ${exitCode}`
}
