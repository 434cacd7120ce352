import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import {
  createReadToolDefinition,
  defineTool,
  detectSupportedImageMimeTypeFromFile,
} from '@earendil-works/pi-coding-agent'
import { decodeFile, encodingNote } from './files/text-file.ts'

/** Returns the read tool. It shows files that are not UTF-8 as well as it can, and says so. */
export function read(cwd: string) {
  const options = { autoResizeImages: false }
  return defineTool({
    ...createReadToolDefinition(cwd, options),
    async execute(id, input, signal, onUpdate, context) {
      let image = false
      let note: string | null = null
      const operations = {
        access: (path: string) => access(path, constants.R_OK),
        detectImageMimeType: async (path: string) => {
          const type = await detectSupportedImageMimeTypeFromFile(path)
          image = typeof type === 'string'
          return type
        },
        readFile: async (path: string) => {
          const bytes = await readFile(path)
          if (image) return bytes
          note = encodingNote(bytes)
          return note === null ? bytes : Buffer.from(decodeFile(bytes)?.shown ?? bytes)
        },
      }
      const { execute } = createReadToolDefinition(cwd, { ...options, operations })
      const result = await execute(id, input, signal, onUpdate, context)
      return note === null
        ? result
        : { ...result, content: [...result.content, { type: 'text' as const, text: `[${note}]` }] }
    },
  })
}
