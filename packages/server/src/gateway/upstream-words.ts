import { knownSecrets } from '../secrets.ts'

const maxCharacters = 1000
/** What looks like a key of whomever, masked or whole: providers repeat the key that they refuse. */
const keyLike = /\b(?:sk|pk|key|AIza)[-_A-Za-z0-9*.]{8,}/g

/** Words of a provider as a client may read them: no credential, no endless text. */
export function upstreamWords(text: string): string {
  const clean = knownSecrets.cutText(text).replaceAll(keyLike, '[secret]').toWellFormed()
  return clean.length > maxCharacters ? `${clean.slice(0, maxCharacters).toWellFormed()}…` : clean
}

/** What a provider's error says, where it is JSON in one of the ways that providers have; else nothing. */
export function wordsOfError(body: string): { words: string | undefined; param: string | null } {
  try {
    const parsed: unknown = JSON.parse(body)
    const holder = Array.isArray(parsed) ? parsed[0] : parsed
    const error = holder?.error ?? holder
    const message = typeof error === 'string' ? error : (error?.message ?? holder?.message)
    return {
      words: typeof message === 'string' ? upstreamWords(message) : undefined,
      param: typeof error?.param === 'string' ? upstreamWords(error.param) : null,
    }
  } catch {
    return { words: undefined, param: null }
  }
}
