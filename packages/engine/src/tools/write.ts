import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createWriteToolDefinition, defineTool } from '@earendil-works/pi-coding-agent'

/** Largest side of a diff that is shown; the log keeps no more. */
const MAX_SHOWN_BYTES = 64 * 1024

/** The text that a write replaced, for the diff: null for a new file, absent if it is too large. */
export interface WriteDetails {
  readonly oldText?: string | null
}

/** Returns the write tool, which also reports the file's previous text. */
export function write(cwd: string) {
  const { name, label, description, parameters, execute } = createWriteToolDefinition(cwd)
  return defineTool({
    name,
    label,
    description,
    parameters,
    async execute(toolCallId, input, signal, _onUpdate, context) {
      const details = await before(resolve(cwd, input.path))
      const { content } = await execute(toolCallId, input, signal, undefined, context)
      return { content, details }
    },
  })
}

async function before(path: string): Promise<WriteDetails> {
  try {
    const { size } = await stat(path)
    return size > MAX_SHOWN_BYTES ? {} : { oldText: await readFile(path, 'utf8') }
  } catch {
    return { oldText: null }
  }
}
