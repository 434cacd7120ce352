import { readFileSync, realpathSync, statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { decodeFile } from '../tools/files/text-file.ts'
import type { PromptInput } from './prompt-text.ts'

const MAX_FILES = 20
const MAX_TEXT_BYTES = 64 * 1024
/** As Base64 the most that every provider takes. */
const MAX_IMAGE_BYTES = 3_932_160
/** Bytes of all files of a message. */
const MAX_BYTES = 8 * 1024 * 1024

const mention = /(?<![\w@/.])@(?:"([^"\n]+)"|([^\s"'<>()[\]]+))/g

/** A prompt with its files, and the paths of those that it holds. */
export interface AttachedInput extends PromptInput {
  readonly attached: readonly string[]
}

/**
 * Returns a prompt with the files that it names as `@path`, and with the images that came with it. A file of the workspace is
 * added whole or not at all; whatever names none stays as it is written.
 * @param takesImages whether the model does
 */
export function withFiles(input: PromptInput, cwd: string, takesImages: boolean): AttachedInput {
  const texts = [input.text]
  const images = [...input.images]
  const attached: string[] = []
  let left = MAX_BYTES
  for (const { path, isMention } of namedFiles(input, cwd)) {
    const shown = relative(cwd, path)
    const size = statSync(path).size
    const bytes = size > Math.min(left, MAX_IMAGE_BYTES) ? null : readFileSync(path)
    const mimeType = bytes === null ? null : imageType(bytes)
    const text = bytes === null || mimeType !== null || size > MAX_TEXT_BYTES ? null : decodeFile(bytes)
    if (bytes !== null && mimeType !== null && takesImages)
      images.push({ type: 'image', data: bytes.toString('base64'), mimeType })
    else if (isMention && text !== null) texts.push(`<file path="${shown}">\n${text.shown}\n</file>`)
    else {
      if (isMention) texts.push(`[${shown} has ${size} bytes and is not shown here]`)
      continue
    }
    left -= size
    attached.push(path)
  }
  return { ...input, text: texts.join('\n\n'), images, attached }
}

function namedFiles({ text, files }: PromptInput, cwd: string): { path: string; isMention: boolean }[] {
  const named = new Map(files.map(path => [path, false]))
  for (const [, quoted, bare = ''] of text.matchAll(mention)) {
    // A sentence may end behind a name.
    for (const name of quoted === undefined ? [bare, bare.replace(/[.,;:!?]+$/, '')] : [quoted])
      named.set(resolve(cwd, name), true)
  }
  return [...named]
    .filter(([path]) => isFileOf(path, cwd))
    .slice(0, MAX_FILES)
    .map(([path, isMention]) => ({ path, isMention }))
}

/** Messages may hold words of strangers, which must not add files from outside the workspace. */
function isFileOf(path: string, cwd: string): boolean {
  try {
    return statSync(path).isFile() && !relative(realpathSync(cwd), realpathSync(path)).startsWith('..')
  } catch {
    return false
  }
}

/** Returns the type of an image that models take; null for anything else. */
function imageType(bytes: Buffer): string | null {
  const begins = (text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text
  if (begins('\x89PNG\r\n')) return 'image/png'
  if (begins('\xff\xd8\xff')) return 'image/jpeg'
  if (begins('GIF8')) return 'image/gif'
  return begins('RIFF') && begins('WEBP', 8) ? 'image/webp' : null
}
