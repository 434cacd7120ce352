import { readFile } from 'node:fs/promises'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes text that the service will keep.
 * @throws Error if it is not UTF-8: replaced characters would reach the service without a word
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new Error('it is not UTF-8; convert it first, for example with iconv')
  }
}

/** Reads a text file of UTF-8. */
export const readUtf8 = async (path: string): Promise<string> => decodeUtf8(await readFile(path))
