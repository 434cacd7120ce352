import { formatBytes } from '@berth/client/transcript'
import { limits } from '@berth/contract'

/** A file that goes with a message. */
export interface Attachment {
  readonly name: string
  readonly mediaType: string
  readonly size: number
  readonly file: Blob
}

/** Base64 makes four bytes of three; the rest of the body is the message, with room for escapes. */
const bodyShare = Math.floor((limits.bodyBytes * 3) / 4)
const besides = 32_768

const characters = (text: string) => [...text].length
const used = (attachments: readonly Attachment[]) => attachments.reduce((sum, { size }) => sum + size + besides / 64, 0)

/** Returns a name that no other file of the message has, and that is one path segment. */
function nameFor(name: string, taken: ReadonlySet<string>): string {
  const plain = [...name.replaceAll('/', '_')].slice(-200).join('') || 'file'
  const [, stem = plain, ending = ''] = /^(.+?)(\.[^.]{1,10})?$/.exec(plain) ?? []
  for (let at = 1; ; at++) {
    const tried = at === 1 ? plain : `${stem}-${at}${ending}`
    if (!taken.has(tried) && tried !== '.' && tried !== '..') return tried
  }
}

/**
 * Returns the attachments with the files that still fit, and a text about the others.
 * @param message counts too, because it goes in the same request
 */
export function attach(
  before: readonly Attachment[],
  files: readonly (Blob & { readonly name?: string })[],
  message: string,
): { readonly attachments: readonly Attachment[]; readonly refused: string | null } {
  const attachments = [...before]
  const room = bodyShare - besides - characters(message)
  for (const file of files) {
    const name = nameFor(file.name ?? 'file', new Set(attachments.map(attachment => attachment.name)))
    if (attachments.length >= limits.filesPerTurn) {
      return { attachments, refused: `A message takes ${limits.filesPerTurn} files at most.` }
    }
    const added = { name, mediaType: file.type, size: file.size, file }
    if (used([...attachments, added]) > room) {
      return {
        attachments,
        refused: `${name} does not fit: the files of a message have ${formatBytes(bodyShare)} in all.`,
      }
    }
    attachments.push(added)
  }
  return { attachments, refused: null }
}

/** Returns the file as the service takes it. */
export async function encoded({ name, mediaType, file }: Attachment) {
  const content = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  for (let at = 0; at < content.length; at += 8_192) binary += String.fromCharCode(...content.subarray(at, at + 8_192))
  return { name, ...(mediaType === '' ? {} : { mediaType }), content: btoa(binary) }
}
