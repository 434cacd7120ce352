import { ownCredentials } from '../../kit/redactor.ts'

const maxCharacters = 1000
/** Keys of providers by how they begin, masked or whole: providers repeat the key that they refuse. */
const keyLike = /\b(?:sk|pk|rk|key|gsk|xai|hf|nvapi|pplx|AIza|Bearer )[-_A-Za-z0-9*.]{8,}/g
/**
 * Keys without such a beginning: a long run of letters and digits together. Ids of calls, answers and requests look the
 * same and tell a client what was wrong, so their beginnings are exempt.
 */
const opaque =
  /(?<![A-Za-z0-9_+/])(?!(?:call|toolu|srvtoolu|req|request|msg|resp|rs|fc|file|chatcmpl)_)(?=[A-Za-z_+/]*\d)(?=[\d_+/]*[A-Za-z])[A-Za-z0-9_+/]{24,}={0,2}/g

/**
 * Words of a provider as a client may read them: no credential, no endless text. Credentials are told by their form and
 * never by their value. A provider repeats what a client sends, so a client could test its guesses of a key otherwise.
 */
export function upstreamWords(text: string): string {
  const clean = ownCredentials.text(text).replaceAll(keyLike, '[secret]').replaceAll(opaque, '[secret]').toWellFormed()
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
