import { readFile, writeFile } from 'node:fs/promises'
import { createEditToolDefinition, defineTool } from '@earendil-works/pi-coding-agent'
import { changeFile } from './files/change-file.ts'
import { editText, type TextEdit } from './files/edit-text.ts'
import { decodeFile } from './files/text-file.ts'

/** Returns the edit tool. Bytes outside an edit stay as they are, for any encoding and any line ends. */
export function edit(cwd: string) {
  return defineTool({
    ...createEditToolDefinition(cwd),
    execute: (id, { path, edits }, signal, _onUpdate, context) =>
      changeFile(cwd, { id, path, signal, context }, async absolutePath => {
        if (edits.length === 0) throw new Error('edits is empty: give at least one replacement.')
        const edited = editBytes(await readFile(absolutePath), edits, path)
        signal?.throwIfAborted()
        await writeFile(absolutePath, edited)
        return `Replaced ${edits.length === 1 ? 'one block' : `${edits.length} blocks`} in ${path}.`
      }),
  })
}

function editBytes(bytes: Buffer, edits: readonly TextEdit[], path: string): Buffer {
  const file = decodeFile(bytes)
  if (file === null) throw new Error(`${path} is not text. Change it with a program in bash.`)
  const given = edits.map(({ oldText, newText }) => ({ oldText: file.given(oldText), newText: file.given(newText) }))
  let edited: string
  try {
    edited = editText(file.text, given, file.given('\u00a0') === '\u00a0')
  } catch (error) {
    throw new Error(`${path} was not changed. ${(error as Error).message}`)
  }
  try {
    return file.encode(edited)
  } catch (error) {
    throw new Error(
      `${path} was not changed. It is ${file.encoding}, and the new text does not fit: ${(error as Error).message}. Leave it out, or convert the file with iconv in bash first.`,
    )
  }
}
