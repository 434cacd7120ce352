import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createWriteToolDefinition, defineTool } from '@earendil-works/pi-coding-agent'
import { changeFile } from './files/change-file.ts'
import { decodeFile, type TextFile, wellFormed } from './files/text-file.ts'

/** Largest side of a diff that is shown; the log keeps no more. */
const MAX_SHOWN_BYTES = 64 * 1024

/** The text that a write replaced, for the diff: null for a new file, absent if it is too large. */
export interface WriteDetails {
  readonly oldText?: string | null
}

/**
 * Returns the write tool, which also reports the file's previous text. An existing file keeps its encoding, its byte
 * order mark and its CRLF line ends; if the content does not fit them, nothing is written.
 */
export function write(cwd: string) {
  const { name, label, description, parameters } = createWriteToolDefinition(cwd)
  return defineTool({
    name,
    label,
    description,
    parameters,
    async execute(id, { path, content }, signal, _onUpdate, context) {
      if (path.toWellFormed().includes('\ufffd'))
        throw new Error('The path holds U+FFFD, which stands for bytes that are not UTF-8. Use bash for this file.')
      const newBytes = wellFormed(content)
      let details: WriteDetails = { oldText: null }
      const result = await changeFile(cwd, { id, path, signal, context }, async absolutePath => {
        const old = await readFile(absolutePath).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'ENOENT') throw error
          return null
        })
        const file = old === null ? null : decodeFile(old)
        if (old !== null) details = old.length > MAX_SHOWN_BYTES || file === null ? {} : { oldText: file.shown }
        const { bytes, kept } = old === null ? { bytes: newBytes, kept: [] } : replace(file, content, path)
        await mkdir(dirname(absolutePath), { recursive: true })
        signal?.throwIfAborted()
        await writeFile(absolutePath, bytes)
        return `Wrote ${path}.${kept.length === 0 ? '' : ` It has ${kept.join(' and ')} as before.`}`
      })
      return { ...result, details }
    },
  })
}

/** Returns the content in the form of the file that it replaces, and what of that form was kept. */
function replace(file: TextFile | null, content: string, path: string): { bytes: Buffer; kept: string[] } {
  const wayOn = 'Nothing was written. Use edit for a part of it, or remove it with rm first to replace all of it.'
  if (file === null) throw new Error(`${path} is not text. ${wayOn}`)
  if (file.encoding === 'UTF-8 with other bytes')
    throw new Error(`${path} holds bytes that are not UTF-8 and would be lost. ${wayOn}`)
  const kept: string[] = []
  let text = content
  if (file.text.startsWith('\ufeff') && !content.startsWith('\ufeff')) {
    text = `\ufeff${text}`
    kept.push('a byte order mark')
  }
  if (!content.includes('\r') && content.includes('\n') && /\r\n/.test(file.text) && !/(^|[^\r])\n/.test(file.text)) {
    text = text.replaceAll('\n', '\r\n')
    kept.push('CRLF line ends')
  }
  if (file.encoding !== 'UTF-8') kept.push(`the encoding ${file.encoding}`)
  try {
    return { bytes: file.encode(text), kept }
  } catch (error) {
    throw new Error(`${path} is ${file.encoding}, and the content does not fit: ${(error as Error).message}. ${wayOn}`)
  }
}
